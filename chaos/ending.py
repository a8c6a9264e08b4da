"""After the faults: what nobody had an answer to is asked for again, everything is waited for, and all is read."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from bench.load import side_by_side
from chaos import queues
from chaos.asking import ask
from chaos.bed import TENANT, Bed
from chaos.item_checks import FINAL
from chaos.load import SCHEDULE, TASKS, promised
from chaos.notes import Notes, Promised, Recurring, Wanted
from chaos.plan import CLIENTS
from chaos.seen import Arrival, Replay, Seen
from cli.client import Answer, Client
from cli.progress import say

_LOOK_EVERY_SECONDS: Final = 2.0
_TOLD_EVERY_SECONDS: Final = 10
_OTHER_BODIES: Final = 20
_OTHER: Final = ({"tags": ["other"]}, {"metadata": {"is": "other"}})


def ask_again(bed: Bed, notes: Notes) -> None:
    """Repeats requests that had no answer: an answer now makes each a promise or a refusal."""
    with bed.admin() as client:
        notes.wanted = [each for each in notes.wanted if not _answered(client, each, notes)]


def _answered(client: Client, wanted: Wanted, notes: Notes) -> bool:
    def send() -> Answer:
        return client.post(wanted.path, wanted.form, idempotency_key=wanted.key)

    asked = ask("what was not answered", send, notes)
    if asked.status == 201 and wanted.path in (SCHEDULE, TASKS):
        notes.promised.append(promised(wanted.key, wanted.path, wanted.form, asked.body))
    elif asked.status == 201:
        notes.deposited += wanted.form["amount"]
    return asked.answer is not None


def wait(bed: Bed, within_seconds: float) -> float:
    """Waits until each item has ended and the queues are empty, or patience ends. Returns the time that passed."""
    began = time.monotonic()
    told = began
    while time.monotonic() < began + within_seconds:
        left = Counter(status for status in bed.tables.statuses().values() if status not in FINAL)
        queued = {name: count for name, count in _queued(bed).items() if count}
        if not left and not queued:
            break
        if time.monotonic() > told + _TOLD_EVERY_SECONDS:
            told = time.monotonic()
            say(f"  {told - began:4.0f} s  still {_listed(left)}; queued {_listed(queued)}")
        time.sleep(_LOOK_EVERY_SECONDS)
    return time.monotonic() - began


def replays(bed: Bed, all_promised: Sequence[Promised]) -> list[Replay]:
    """Each registration once more, and some with another body."""
    tries = [(each, False) for each in all_promised]
    tries += [(each, True) for each in all_promised[:: max(1, len(all_promised) // _OTHER_BODIES)]]

    def caller(opened: ExitStack) -> Callable[[tuple[Promised, bool]], Replay]:
        client = opened.enter_context(bed.client())

        def call(chosen: tuple[Promised, bool]) -> Replay:
            promised, other = chosen
            form = promised.form | (_OTHER[promised.is_payment] if other else {})

            def send() -> Answer:
                return client.post(promised.path, form, idempotency_key=promised.key)

            asked = ask("a replay", send, Notes())
            id = asked.body.get("payment_id") or asked.body.get("task_id")
            return Replay(promised=promised, status=asked.status, id=id, other_body=other)

        return call

    return side_by_side(CLIENTS, tries, caller).answers


def look(
    bed: Bed,
    notes: Notes,
    *,
    recurring: Sequence[Recurring],
    arrivals: Iterable[Arrival],
    words: Mapping[str, int],
) -> Seen:
    again = replays(bed, notes.promised)
    with bed.admin() as client:
        audit = client.get("/api/v1/audit").expect(200)
    dead = [bed.stack.queues[f"{name}_dlq"] for name in ("tasks", "payments")]
    return Seen(
        notes=notes,
        recurring=recurring,
        tasks=bed.tables.tasks(),
        payments=bed.tables.payments(),
        accounts=bed.tables.accounts(TENANT),
        movements=bed.tables.movements(TENANT),
        arrivals=[*arrivals, *queues.arrivals(bed.sqs, bed.stack.destination_queue_url)],
        words=words,
        letters=[letter for url in dead for letter in queues.letters(bed.sqs, url)],
        queued=_queued(bed),
        replays=again,
        audit=audit,
    )


def _queued(bed: Bed) -> dict[str, int]:
    """`ticks` is left out: its heartbeat never ends."""
    return {name: queues.waiting(bed.sqs, bed.queues[name]) for name in ("tasks", "slow", "payments")}


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"
