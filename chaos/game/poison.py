"""Messages that no worker can read: they end as dead letters, and hold up nothing else."""

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Final

from chaos import queues
from chaos.game.drill import Drill, Line, fault, put_right, seen, told
from chaos.game.ground import Ground, until

# They come back at once instead of after a lease, so that their receives are used up within the game.
_RETURN_SECONDS: Final = "1"
_USED_UP_WITHIN_SECONDS: Final = 90
_POISON: Final = ("{", "[]", '{"dues": 1}', '{"kind": "unknown"}', "\u00a0")


def poisoned(ground: Ground, draws: Random) -> Iterator[Line]:
    """The ticks' dead letters are removed when the cause is; the next tick makes up for them."""
    since, sqs = datetime.now(UTC), ground.aws("sqs")
    url, letters = ground.stack.queues["ticks"], ground.stack.queues["ticks_dlq"]
    before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": _RETURN_SECONDS})
    bodies = [draws.choice(_POISON) for _ in range(draws.randint(1, 3))]
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body)
    yield fault("messages that cannot be read sent to the queue ticks", len(bodies))
    try:
        found = until(
            lambda: queues.waiting(sqs, letters) >= len(bodies), within=_USED_UP_WITHIN_SECONDS, every=1
        )
    finally:
        sqs.set_queue_attributes(QueueUrl=url, Attributes=before)
    yield seen(found, f"{queues.waiting(sqs, letters)} dead letters of the queue ticks")
    yield told("dead_letters_ticks", ground.fires("dead_letters_ticks", since=since))
    ground.runbook.run("dead_letters_ticks", "aws sqs purge-queue", variables={"TICKS_DLQ_URL": letters})
    with ground.operator() as operator:
        alive = operator.get("/api/v1/ops/overview").expect(200)["sweep"]["alive"]
    empty = until(lambda: not queues.waiting(sqs, letters), within=10)
    yield put_right(empty and alive, f"no letter left, the sweep is {'alive' if alive else 'NOT ALIVE'}")


DRILL: Final = Drill(name="poisoned messages", play=poisoned, beside=True)
