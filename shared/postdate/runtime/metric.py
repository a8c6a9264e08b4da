"""Every metric that the functions emit. Alarms, dashboards and docs/metrics.md take their metrics from this table.

The only dimension is the function's name. A tenant or an item is never a dimension: each value of a dimension is a
metric of its own and costs as much.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Unit(StrEnum):
    COUNT = "Count"
    MILLISECONDS = "Milliseconds"


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """`functions` are those that emit the metric. A metric with `zeros` is emitted by each batch or request, so that a
    share can be computed from it at any time."""

    name: str
    meaning: str
    functions: tuple[str, ...]
    unit: Unit = Unit.COUNT
    zeros: bool = False


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
    name="PaymentsScheduled", meaning="Payments registered for the first time.", functions=("api",)
)
HOLDS_CREATED: Final = Metric(
    name="HoldsCreated", meaning="Payments whose amount is held from registration on.", functions=("api",)
)
TASKS_SCHEDULED: Final = Metric(
    name="TasksScheduled", meaning="One-time tasks registered for the first time.", functions=("api",)
)
KEYS_ACCEPTED: Final = Metric(name="KeysAccepted", meaning="Valid API keys.", functions=("authorize",))
KEYS_REFUSED: Final = Metric(
    name="KeysRefused", meaning="API keys that are unknown, revoked or expired.", functions=("authorize",)
)
KEYS_NOT_READ: Final = Metric(
    name="KeysNotRead", meaning="API keys that the database did not answer for.", functions=("authorize",)
)
WAKE_UPS: Final = Metric(
    name="WakeUps", meaning="Messages that woke the sweep.", functions=("sweep",), zeros=True
)
TICKS: Final = Metric(name="Ticks", meaning="Ticks of EventBridge Scheduler.", functions=("sweep",))
CALLS_SENT: Final = Metric(
    name="CallsSent", meaning="Calls that the sweep sent to the queues.", functions=("sweep",), zeros=True
)
PASSES_FAILED: Final = Metric(
    name="SweepsFailed", meaning="Passes of the sweep that failed.", functions=("sweep",), zeros=True
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
    name="MessagesFailed", meaning="Messages given back to their queue.", functions=("run_tasks", "settle")
)
CALLS_DROPPED: Final = Metric(
    name="CallsDropped",
    meaning="Calls without work: the item had ended or had changed.",
    functions=("run_tasks", "settle"),
)
CALLS_DEFERRED: Final = Metric(
    name="CallsDeferred",
    meaning="Calls sent again because their instant is further away than a worker waits.",
    functions=("run_tasks", "settle"),
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
    name="MoneyMoved", meaning="Sum of the amounts of completed payments.", functions=("settle",)
)
PAYMENTS_LATE: Final = Metric(
    name="PaymentsLate",
    meaning="Payments that completed more than 1 s after their instant.",
    functions=("settle",),
    zeros=True,
)
PAYMENTS_STUMBLED: Final = Metric(
    name="PaymentsStumbled", meaning="Attempts at payments that will be repeated.", functions=("settle",)
)
PAYMENTS_PARKED: Final = Metric(
    name="PaymentsParked", meaning="Payments left to a person after the last attempt.", functions=("settle",)
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
TASKS_CLAIMED: Final = Metric(name="TasksClaimed", meaning="Attempts that began.", functions=("run_tasks",))
TASKS_SUCCEEDED: Final = Metric(
    name="TasksSucceeded", meaning="Tasks that succeeded.", functions=("run_tasks",), zeros=True
)
TASKS_ACCEPTED: Final = Metric(
    name="TasksAccepted",
    meaning="Deliveries whose receiver will report the outcome later.",
    functions=("run_tasks",),
)
TASKS_RETRIED: Final = Metric(
    name="TasksRetried", meaning="Attempts that failed and will be repeated.", functions=("run_tasks",)
)
TASKS_DEAD: Final = Metric(
    name="TasksDead", meaning="Tasks that failed for the last time.", functions=("run_tasks",), zeros=True
)
TASKS_EXPIRED: Final = Metric(
    name="TasksExpired", meaning="Tasks that ended at `expires_at`.", functions=("run_tasks",)
)
TASKS_LATE: Final = Metric(
    name="TasksLate",
    meaning="First attempts that began more than 30 s after their instant.",
    functions=("run_tasks",),
    zeros=True,
)
TASK_LATENESS: Final = Metric(
    name="TaskLateness",
    meaning="Time from a task's instant to the begin of its attempt.",
    functions=("run_tasks",),
    unit=Unit.MILLISECONDS,
)
CALLS_POSTPONED: Final = Metric(
    name="CallsPostponed", meaning="Calls without a place of their flow key.", functions=("run_tasks",)
)
CALLS_MOVED: Final = Metric(
    name="CallsMoved", meaning="Calls moved to the queue for slow destinations.", functions=("run_tasks",)
)
FENCED_OFF: Final = Metric(
    name="OutcomesFencedOff",
    meaning="Outcomes refused because another worker had the task.",
    functions=("run_tasks",),
)
RUNS_QUEUED: Final = Metric(
    name="RunsQueued", meaning="Runs that wait for the run before them.", functions=("run_tasks",)
)
RUNS_SKIPPED: Final = Metric(
    name="RunsSkipped", meaning="Runs skipped because the run before them was on.", functions=("run_tasks",)
)
RUNS_MISSED: Final = Metric(
    name="RunsMissed", meaning="Runs too late for their catch-up window.", functions=("run_tasks",)
)
RUNS_VOID: Final = Metric(
    name="RunsVoid", meaning="Runs of a plan that has changed since.", functions=("run_tasks",)
)
BREAKERS_OPENED: Final = Metric(
    name="BreakersOpened", meaning="Destinations that are no longer called.", functions=("run_tasks",)
)
DESTINATIONS_SLOW: Final = Metric(
    name="DestinationsSlow",
    meaning="Destinations moved to the queue for slow destinations.",
    functions=("run_tasks",),
)

METRICS: Final = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
