"""The case about a peak: tasks of one tenant that are due at one instant."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from cli import tenants
from cli.client import Client
from smoke.bed import Bed, check

_BATCH: Final = 100
_LATE_SECONDS_MAX: Final = 30.0
_WAIT: Final = timedelta(minutes=5)
# Batches registered a second at least; the burst is due when the last one is registered.
_BATCHES_A_SECOND: Final = 4
_AHEAD: Final = timedelta(seconds=20)
_SCOPES: Final = frozenset({"tasks:read", "tasks:write"})


def burst(bed: Bed) -> str:
    """Each task of the burst arrives once, none early, the 99th percentile within 30 seconds."""
    queue = _queue(bed)
    due_at = datetime.now(UTC) + _AHEAD + timedelta(seconds=bed.tasks / _BATCH / _BATCHES_A_SECOND)
    registered = _register(bed, queue, due_at)
    arrived = _arrivals(bed, queue, due_at)
    check(
        len(arrived) == len(registered) and set(arrived) == registered,
        f"{len(registered)} tasks were registered, {len(set(arrived))} arrived in {len(arrived)} messages",
    )
    lateness = sorted(arrived.values())
    p50, p99 = (lateness[int(len(lateness) * share)] for share in (0.5, 0.99))
    check(lateness[0] >= 0, f"a task arrived {-lateness[0]:.3f} s early")
    check(p99 <= _LATE_SECONDS_MAX, f"p99 is {p99:.1f} s")
    return f"{len(arrived)} tasks, lateness p50 {p50:.1f} s, p99 {p99:.1f} s, most {lateness[-1]:.1f} s"


def _queue(bed: Bed) -> str:
    """A queue that the deployed functions may send to, and that the run removes."""
    sqs, allowed = bed.client("sqs"), bed.environment.destinations[0]
    url: str = sqs.create_queue(QueueName=allowed.replace("*", bed.name))["QueueUrl"]
    bed.removals.callback(sqs.delete_queue, QueueUrl=url)
    return url


def _register(bed: Bed, queue: str, due_at: datetime) -> set[str]:
    """Ids of the registered tasks. The run's tenant and its key stay; the key is revoked."""
    table = bed.environment.table
    vault = tenants.vault(table("data_keys"), bed.environment, kms=partial(bed.client, "kms"))
    tenants.tenant(table("tenants"), bed.name, vault=vault, destinations=[(tenants.SQS, queue)])
    keys = tenants.key_table(
        table("keys"), table("data_keys"), bed.environment, kms=partial(bed.client, "kms")
    )
    key = tenants.key(keys, bed.name, _SCOPES)
    with Client(bed.api_url, key) as client:
        return set(_registered(client, queue, due_at, bed.tasks))


def _registered(client: Client, queue: str, due_at: datetime, count: int) -> Iterator[str]:
    form = {"run_at": due_at.isoformat(), "target": {"type": "sqs", "queue_url": queue}}
    for start in range(0, count, _BATCH):
        body = {"tasks": [form] * min(_BATCH, count - start)}
        answer = _batch(client, body)
        for each in answer["results"]:
            check("task" in each, f"a task was answered {each}")
            yield each["task"]["task_id"]


def _batch(client: Client, body: object) -> Any:
    """The answer to a batch; a refusal by the tenant's quota is repeated after a second."""
    while (answer := client.post("/api/v1/tasks/batch", body)).status == 429:
        time.sleep(1)
    return answer.expect(200)


def _arrivals(bed: Bed, queue: str, due_at: datetime) -> dict[str, float]:
    """Seconds after the instant at which SQS took each task's message, by task id."""
    sqs, found = bed.client("sqs"), dict[str, float]()
    ends_at = due_at + _WAIT
    while len(found) < bed.tasks and datetime.now(UTC) < ends_at:
        answer = sqs.receive_message(
            QueueUrl=queue,
            MaxNumberOfMessages=10,
            WaitTimeSeconds=2,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["SentTimestamp"],
        )
        messages = answer.get("Messages", [])
        for message in messages:
            id = message["MessageAttributes"]["Postdate-Task-Id"]["StringValue"]
            check(id not in found, f"{id} arrived twice")
            found[id] = int(message["Attributes"]["SentTimestamp"]) / 1000 - due_at.timestamp()
        if messages:
            sqs.delete_message_batch(
                QueueUrl=queue,
                Entries=[
                    {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                    for number, message in enumerate(messages)
                ],
            )
    return found
