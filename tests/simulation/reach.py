"""What runs have to reach at least now and then: a batch of many that never comes there proves nothing about it."""

from collections import Counter
from typing import Final

from tests.simulation.mix import TEMPERS, Fault
from tests.simulation.transitions import PAYMENTS, TASKS

_OF_RUNS: Final = {"EXPIRED", "SKIPPED", "MISSED"}
_HELD_BACK: Final = {("RETRYING", "RETRYING"), ("DEAD", "RETRYING")}
SOMETIMES: Final = (
    *(f"fault {fault}" for fault in Fault),
    *(f"target {temper}" for temper in TEMPERS),
    *(
        f"task {was} -> {to}"
        for was, then in TASKS.items()
        for to in sorted(then - _OF_RUNS)
        if (was, to) not in _HELD_BACK
    ),
    *(f"payment {was} -> {to}" for was, then in PAYMENTS.items() for to in sorted(then)),
    *("api died", "sweep died", "run_tasks died", "settle died", "time is up"),
    *("message twice", "message delayed", "message failed", "delete lost", "stale index"),
    *("outage dynamodb", "outage sqs", "outage conflicts"),
    *("asked twice at once", "replayed", "redriven"),
    *("http 409 idempotency_in_progress", "http 422 idempotency_key_reused", "http 503 unavailable"),
    *("http 409 insufficient_funds", "http 409 account_frozen", "http 412 version_conflict"),
    "metric OutcomesFencedOff",
    "metric TasksDead",
    "metric TasksRetried",
    "metric CallsDeferred",
    "metric CallsDropped",
    "metric PaymentsFailed",
    "metric PaymentsStumbled",
    "metric PaymentsParked",
    "metric Overdue",
    "log call_not_sent",
)


def missing(reach: Counter[str]) -> list[str]:
    return [name for name in SOMETIMES if not reach[name]]
