"""Situations that runs have to reach now and then: a large batch that never reaches one proves nothing about it."""

from collections import Counter
from typing import Final

from tests.simulation.mix import TEMPERS, Fault
from tests.simulation.receivers import WAYS
from tests.simulation.transitions import DEFINITIONS, PAYMENTS, TASKS

_OF_RUNS: Final = {"SKIPPED", "MISSED"}
SOMETIMES: Final = (
    *(f"fault {fault}" for fault in Fault),
    *(f"target {temper}" for temper in TEMPERS),
    *(f"task {was} -> {to}" for was, then in TASKS.items() for to in sorted(then - _OF_RUNS)),
    *(f"run {was} -> {to}" for was, then in TASKS.items() for to in sorted(then)),
    *(f"definition {was} -> {to}" for was, then in DEFINITIONS.items() for to in sorted(then)),
    *(f"receiver {way}" for way in WAYS),
    *("complete 200", "complete 409", "fail 200", "heartbeat 200", "heartbeat 409"),
    *("places given away", "room full", "breaker opens", "breaker tries", "breaker closes", "target is down"),
    *("state run MISSED", "runs backfilled", "run begins when those before it are over"),
    *(
        "run SKIPPED paused",
        "run SKIPPED the",
        "run SKIPPED 2",
        "run rests behind others",
        "run begins in its turn",
        "raced for an item",
        "raced for a run",
    ),
    *(f"payment {was} -> {to}" for was, then in PAYMENTS.items() for to in sorted(then)),
    *("api died", "sweep died", "run_tasks died", "settle died", "time is up"),
    *("message twice", "message delayed", "message failed", "delete lost", "stale index"),
    *("outage dynamodb", "outage sqs", "outage conflicts"),
    *("asked twice at once", "replayed", "redriven"),
    *("http 409 idempotency_in_progress", "http 422 idempotency_key_reused", "http 503 unavailable"),
    *("http 409 insufficient_funds", "http 409 account_frozen", "http 412 version_conflict"),
    *("what newer code wrote, changed by older", "poison is a dead letter", "message fatal"),
    "metric OutcomesFencedOff",
    "metric TasksDead",
    "metric TasksRetried",
    "metric LeasesExpired",
    "metric CallsDeferred",
    "metric CallsDropped",
    "metric PaymentsFailed",
    "metric PaymentsStumbled",
    "metric PaymentsParked",
    "metric Overdue",
    *("tried again by the API", "http 422 limit_exceeded"),
    *("call lost", "letters rested", "looked for by a later audit"),
    "log call_not_sent",
)


# Short runs leave out what lasts for hours, and have too few minutes to fill a queue.
_OF_WHOLE_RUNS: Final = frozenset(
    {
        *("poison is a dead letter", "message fatal"),
        *("call lost", "letters rested", "looked for by a later audit"),
        "run SKIPPED 2",
    }
)


def missing(reach: Counter[str], *, short: bool) -> list[str]:
    return [name for name in SOMETIMES if not reach[name] and not (short and name in _OF_WHOLE_RUNS)]
