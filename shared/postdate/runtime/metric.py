"""Every metric that the functions emit. Alarms and dashboards take their metrics from this table.

Each value of a dimension is a metric of its own and costs as much. So the dimensions are the function's name and, for
a few metrics, the tier of the tenant; a tenant or an item is never one. A count that no alarm watches stays in the
logs.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

STANDARD: Final = "standard"
# Tiers of tenants. Each is a value of a dimension.
TIERS: Final = (STANDARD, "gold")


class Unit(StrEnum):
    COUNT = "Count"
    MILLISECONDS = "Milliseconds"


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One metric, as functions emit it and alarms find it."""

    # The name in CloudWatch.
    name: str
    # The line in the documentation.
    meaning: str
    # The functions that emit it.
    functions: tuple[str, ...]
    # The unit in CloudWatch.
    unit: Unit = Unit.COUNT
    # True if each batch or request emits it, also as 0, so that a share can be computed at any time.
    zeros: bool = False
    # True if it is emitted for each tier of tenants.
    by_tier: bool = False
    # True if CloudWatch keeps no series of it. It is a field of the line of metrics, and Logs Insights sums
    # it.
    in_logs: bool = False


REQUESTS: Final = Metric(name="Requests", meaning="Requests answered.", functions=("api",), zeros=True)
REGISTER_TIME: Final = Metric(
    name="RegisterTime",
    meaning="Time that `api` took to register a payment, a task or a job.",
    functions=("api",),
    unit=Unit.MILLISECONDS,
)
CANCEL_TIME: Final = Metric(
    name="CancelTime",
    meaning="Time that `api` took to cancel a payment, a task or a job.",
    functions=("api",),
    unit=Unit.MILLISECONDS,
)
STATUS_TIME: Final = Metric(
    name="StatusTime",
    meaning="Time that `api` took to answer the status of one payment, task or job.",
    functions=("api",),
    unit=Unit.MILLISECONDS,
)
PAYMENTS_SCHEDULED: Final = Metric(
    name="PaymentsScheduled",
    meaning="Payments registered for the first time.",
    functions=("api",),
    in_logs=True,
)
HOLDS_CREATED: Final = Metric(
    name="HoldsCreated",
    meaning="Payments whose amount is held from registration on.",
    functions=("api",),
    in_logs=True,
)
TASKS_SCHEDULED: Final = Metric(
    name="TasksScheduled",
    meaning="One-time tasks registered for the first time.",
    functions=("api",),
    in_logs=True,
)
PAYMENTS_CANCELLED: Final = Metric(
    name="PaymentsCancelled", meaning="Payments that a caller cancelled.", functions=("api",), in_logs=True
)
PAYMENTS_RESCHEDULED: Final = Metric(
    name="PaymentsRescheduled",
    meaning="Payments that a caller gave another instant.",
    functions=("api",),
    in_logs=True,
)
TASKS_CANCELLED: Final = Metric(
    name="TasksCancelled", meaning="One-time tasks that a caller cancelled.", functions=("api",), in_logs=True
)
TASKS_RESCHEDULED: Final = Metric(
    name="TasksRescheduled",
    meaning="One-time tasks that a caller gave another instant.",
    functions=("api",),
    in_logs=True,
)
AUDITS_FAILED: Final = Metric(
    name="AuditsFailed",
    meaning="Audits of a tenant's money that found a contradiction.",
    functions=("api",),
)
AUDITS_PASSED: Final = Metric(
    name="AuditsPassed",
    meaning="Audits of a tenant's money that found none.",
    functions=("api",),
    in_logs=True,
)
RECONCILED: Final = Metric(
    name="Reconciled",
    meaning="Nightly reconciliations that came to their end.",
    functions=("reconcile",),
    in_logs=True,
)
RECONCILIATIONS_DIFFER: Final = Metric(
    name="ReconciliationsDiffer",
    meaning="Nightly reconciliations that found a contradiction.",
    functions=("reconcile",),
    zeros=True,
)
KEYS_ACCEPTED: Final = Metric(
    name="KeysAccepted", meaning="Valid API keys.", functions=("authorize",), in_logs=True
)
KEYS_REFUSED: Final = Metric(
    name="KeysRefused",
    meaning="API keys that are unknown, revoked or expired.",
    functions=("authorize",),
    in_logs=True,
)
KEYS_NOT_READ: Final = Metric(
    name="KeysNotRead",
    meaning="API keys that the database did not answer for.",
    functions=("authorize",),
    zeros=True,
)
WAKE_UPS: Final = Metric(
    name="WakeUps", meaning="Messages that woke the sweep.", functions=("sweep",), zeros=True
)
TICKS: Final = Metric(name="Ticks", meaning="Ticks of EventBridge Scheduler.", functions=("sweep",))
CALLS_SENT: Final = Metric(
    name="CallsSent", meaning="Calls that the sweep sent to the queues.", functions=("sweep",), in_logs=True
)
PASSES_FAILED: Final = Metric(
    name="SweepsFailed", meaning="Passes of the sweep that failed.", functions=("sweep",), zeros=True
)
OPERATIONS_STALLED: Final = Metric(
    name="OperationsStalled",
    meaning="Operations whose execution died. The sweep began a new one.",
    functions=("sweep",),
    zeros=True,
)
OVERDUE: Final = Metric(
    name="Overdue",
    meaning="Items that the audit found overdue with neither a message nor a worker.",
    functions=("sweep",),
    zeros=True,
)
BEHIND: Final = Metric(
    name="SweepBehindMinutes",
    meaning="Minutes between now and the minute up to which the sweep has closed all minutes.",
    functions=("sweep",),
    zeros=True,
)
ITEMS_DUE: Final = Metric(
    name="ItemsDue",
    meaning="Items of a minute that has ended, counted in its slots a minute later.",
    functions=("sweep",),
    zeros=True,
)
ITEMS_WAITING: Final = Metric(
    name="ItemsWaiting",
    meaning="Items of a minute that has ended, of which no attempt had begun a minute later.",
    functions=("sweep",),
    zeros=True,
)
PACKETS: Final = Metric(
    name="Packets", meaning="Messages taken from a queue.", functions=("run_tasks", "settle"), zeros=True
)
REDELIVERIES: Final = Metric(
    name="Redeliveries",
    meaning="Messages received for the second time or more: a worker died, or gave the message back.",
    functions=("run_tasks", "settle"),
    zeros=True,
)
MESSAGES_FAILED: Final = Metric(
    name="MessagesFailed",
    meaning="Messages given back to their queue.",
    functions=("run_tasks", "settle"),
    in_logs=True,
)
# The one class of failed attempts that an alarm watches.
UNTRIED: Final = "untried"
ATTEMPTS_FAILED: Final = {
    each: Metric(
        name=f"AttemptsFailed_{each}", meaning=meaning, functions=("run_tasks",), in_logs=each != UNTRIED
    )
    for each, meaning in {
        "unreachable": "Attempts that found no answering destination.",
        "server_error": "Attempts that were answered with a status of 500 or more.",
        "throttled": "Attempts that were answered with the status 429.",
        "refused": "Attempts that were answered with another status below 500.",
        "not_allowed": "Attempts that were not sent, because a rule of ours forbids it.",
        "no_answer": "Attempts without an answer that says more.",
        "queued": "Attempts that were not sent, because other deliveries kept them waiting. They do not count.",
        UNTRIED: "Attempts that were not sent, for a reason of our own. They do not count.",
    }.items()
}
DELAYS: Final = {
    each: Metric(
        name=f"Delays_{each}", meaning=f"Items registered {meaning} ahead.", functions=("api",), in_logs=True
    )
    for each, meaning in {
        "minute": "less than a minute",
        "hour": "a minute to an hour",
        "day": "an hour to a day",
        "week": "a day to a week",
        "more": "more than a week",
    }.items()
}
CALLS_DROPPED: Final = Metric(
    name="CallsDropped",
    meaning="Calls without work: the item had ended or had changed.",
    functions=("run_tasks", "settle"),
    in_logs=True,
)
CALLS_STOPPED: Final = Metric(
    name="CallsStopped",
    meaning="Calls sent again because an operator's switch stops their items.",
    functions=("run_tasks", "settle"),
    in_logs=True,
)
CALLS_DEFERRED: Final = Metric(
    name="CallsDeferred",
    meaning="Calls sent again because their instant is further away than a worker waits.",
    functions=("run_tasks", "settle"),
    in_logs=True,
)
PAYMENTS_SETTLED: Final = Metric(
    name="PaymentsSettled", meaning="Payments that completed.", functions=("settle",), zeros=True
)
PAYMENTS_FAILED: Final = Metric(
    name="PaymentsFailed",
    meaning="Payments that failed, for example for lack of money.",
    functions=("settle",),
    zeros=True,
)
MONEY_MOVED: Final = Metric(
    name="MoneyMoved",
    meaning="Sum of the amounts of completed payments.",
    functions=("settle",),
    in_logs=True,
)
PAYMENTS_LATE: Final = Metric(
    name="PaymentsLate",
    meaning="Payments that completed more than 1 s after their instant.",
    functions=("settle",),
    zeros=True,
)
PAYMENTS_STUMBLED: Final = Metric(
    name="PaymentsStumbled",
    meaning="Attempts at payments that will be repeated.",
    functions=("settle",),
    in_logs=True,
)
PAYMENTS_PARKED: Final = Metric(
    name="PaymentsParked",
    meaning="Payments left to a person after the last attempt.",
    functions=("settle",),
    in_logs=True,
)
BOOKS_DISAGREE: Final = Metric(
    name="BooksDisagree",
    meaning="Payments that could not end because an account or the journal contradicts them.",
    functions=("settle",),
    zeros=True,
)
PAYMENT_LATENESS: Final = Metric(
    name="PaymentLateness",
    meaning="Time from a payment's instant to the answer of its transaction.",
    functions=("settle",),
    unit=Unit.MILLISECONDS,
)
PAYMENT_EXECUTION: Final = Metric(
    name="PaymentExecution",
    meaning="Time that the posting of a payment took, without the time that the payment waited for it.",
    functions=("settle",),
    unit=Unit.MILLISECONDS,
)
PAYMENT_WAIT: Final = Metric(
    name="PaymentWait",
    meaning="Time from a payment's instant to the start of its posting: the queue alone.",
    functions=("settle",),
    unit=Unit.MILLISECONDS,
)
BALANCE_UPDATES: Final = Metric(
    name="BalanceUpdates",
    meaning="Changes of balances by completed payments: two for each.",
    functions=("settle",),
    in_logs=True,
)
TASKS_CLAIMED: Final = Metric(
    name="TasksClaimed", meaning="Attempts that began.", functions=("run_tasks",), in_logs=True
)
TASKS_SUCCEEDED: Final = Metric(
    name="TasksSucceeded", meaning="Tasks that succeeded.", functions=("run_tasks",), zeros=True
)
TASKS_ACCEPTED: Final = Metric(
    name="TasksAccepted",
    meaning="Deliveries whose receiver will report the outcome later.",
    functions=("run_tasks",),
    in_logs=True,
)
TASKS_RETRIED: Final = Metric(
    name="TasksRetried",
    meaning="Attempts that failed and will be repeated.",
    functions=("run_tasks",),
    in_logs=True,
)
TASKS_DEAD: Final = Metric(
    name="TasksDead", meaning="Tasks that failed for the last time.", functions=("run_tasks",), zeros=True
)
TASKS_EXPIRED: Final = Metric(
    name="TasksExpired",
    meaning="Tasks that ended as EXPIRED: the deadline passed, or their flow key has no place before it.",
    functions=("run_tasks",),
    in_logs=True,
)
TASKS_LATE: Final = Metric(
    name="TasksLate",
    meaning="First attempts that began more than 30 s after their instant.",
    functions=("run_tasks",),
    in_logs=True,
)
TASK_LATENESS: Final = Metric(
    name="TaskLateness",
    meaning="Time from a task's instant to the start of its first attempt.",
    functions=("run_tasks",),
    unit=Unit.MILLISECONDS,
)
TASK_EXECUTION: Final = Metric(
    name="TaskExecution",
    meaning="Time from the start of an attempt to its outcome: the destination, without the queue.",
    functions=("run_tasks",),
    unit=Unit.MILLISECONDS,
)
LEASES_EXPIRED: Final = Metric(
    name="LeasesExpired",
    meaning="Attempts whose worker was gone when their lease ended. The next worker counts them.",
    functions=("run_tasks",),
    zeros=True,
)
TIER_ENDED: Final = Metric(
    name="TierTasksEnded",
    meaning="Tasks of a tier that succeeded, or failed for the last time.",
    functions=("run_tasks",),
    by_tier=True,
)
TIER_LATENESS: Final = Metric(
    name="TierTaskLateness",
    meaning="Time from the instant of a tier's task to the start of its first attempt.",
    functions=("run_tasks",),
    unit=Unit.MILLISECONDS,
    by_tier=True,
)
CALLS_POSTPONED: Final = Metric(
    name="CallsPostponed",
    meaning="Calls postponed by a flow key, a circuit breaker, or the pause or the order of a subscription.",
    functions=("run_tasks",),
    in_logs=True,
)
CALLS_MOVED: Final = Metric(
    name="CallsMoved",
    meaning="Calls moved to the queue for slow destinations.",
    functions=("run_tasks",),
    in_logs=True,
)
FENCED_OFF: Final = Metric(
    name="OutcomesFencedOff",
    meaning="Outcomes refused because another worker had the task.",
    functions=("run_tasks",),
    in_logs=True,
)
RUNS_QUEUED: Final = Metric(
    name="RunsQueued",
    meaning="Runs that wait for the run before them.",
    functions=("run_tasks",),
    in_logs=True,
)
RUNS_SKIPPED: Final = Metric(
    name="RunsSkipped",
    meaning="Runs that ended as SKIPPED: an earlier run was active, the task was paused, or its queue was full.",
    functions=("run_tasks",),
    in_logs=True,
)
RUNS_MISSED: Final = Metric(
    name="RunsMissed",
    meaning="Runs that ended as MISSED: `catch_up` left them out.",
    functions=("run_tasks",),
    in_logs=True,
)
RUNS_VOID: Final = Metric(
    name="RunsVoid",
    meaning="Runs that ended as CANCELLED, because their task was cancelled or changed.",
    functions=("run_tasks",),
    in_logs=True,
)
BREAKERS_OPENED: Final = Metric(
    name="BreakersOpened", meaning="Destinations that are no longer called.", functions=("run_tasks",)
)
DESTINATIONS_SLOW: Final = Metric(
    name="DestinationsSlow",
    meaning="Destinations moved to the queue for slow destinations.",
    functions=("run_tasks",),
    in_logs=True,
)

DEPENDENCIES_OPENED: Final = Metric(
    name="DependenciesOpened",
    meaning="Breakers of tables and services that opened, or opened again after a try.",
    functions=("api", "run_tasks", "settle"),
    in_logs=True,
)
# Outcomes of retries that the experiment `task_retries` compares.
RECOVERED: Final = "recovered"
RETRIED: Final = "retried"
DIED: Final = "dead"
RETRY_ARMS: Final = {
    (arm, outcome): Metric(
        name=f"RetryArm_{arm}_{outcome}",
        meaning=f"{meaning}, arm {arm}.",
        functions=("run_tasks",),
        in_logs=True,
    )
    for arm in ("a", "b")
    for outcome, meaning in {
        RECOVERED: "Tasks that succeeded at a retry",
        RETRIED: "Attempts that failed and are followed by a retry",
        DIED: "Tasks that used up their attempts",
    }.items()
}
# Requests that wait for an event, by the flag `long_waits` and by their answer.
LONG_WAITS: Final = {
    (on, told): Metric(
        name=f"LongWaits_{'on' if on else 'off'}_{'told' if told else 'empty'}",
        meaning=f"Waits for an event that were answered {'with one' if told else 'with none'}, "
        f"long waits {'on' if on else 'off'}.",
        functions=("api",),
        in_logs=True,
    )
    for on in (True, False)
    for told in (True, False)
}

METRICS: Final = (
    *(value for value in list(globals().values()) if isinstance(value, Metric)),
    *ATTEMPTS_FAILED.values(),
    *DELAYS.values(),
    *RETRY_ARMS.values(),
    *LONG_WAITS.values(),
)
