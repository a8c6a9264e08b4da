"""Types of the API's answers: dictionaries. A later release of the API may add fields.

`python client/describe.py` writes this file from the API's description.
"""

from postdate_client.answers.accounts import Account, Limits, Transaction
from postdate_client.answers.events import Actor, Event, Subject
from postdate_client.answers.instant import Instant
from postdate_client.answers.operations import Eligible, NotEligible, Operation, StopWhen
from postdate_client.answers.payments import CancelledPayment, Payment
from postdate_client.answers.tasks import (
    AnyCancelledTask,
    AnyTask,
    AnyTaskWithPayload,
    Attempt,
    CancelledRecurringTask,
    CancelledTask,
    EventBridgeTarget,
    FlowControl,
    HistoryLine,
    LastRun,
    ListedTask,
    PlannedRun,
    RecurringTask,
    RecurringTaskWithPayload,
    Retry,
    Run,
    RunSummary,
    SnsTarget,
    SqsTarget,
    Status,
    Task,
    TaskWithPayload,
    WebhookTarget,
)
from postdate_client.answers.whoami import Whoami

__all__ = [
    "Account",
    "Actor",
    "AnyCancelledTask",
    "AnyTask",
    "AnyTaskWithPayload",
    "Attempt",
    "CancelledPayment",
    "CancelledRecurringTask",
    "CancelledTask",
    "Eligible",
    "Event",
    "EventBridgeTarget",
    "FlowControl",
    "HistoryLine",
    "Instant",
    "LastRun",
    "Limits",
    "ListedTask",
    "NotEligible",
    "Operation",
    "Payment",
    "PlannedRun",
    "RecurringTask",
    "RecurringTaskWithPayload",
    "Retry",
    "Run",
    "RunSummary",
    "SnsTarget",
    "SqsTarget",
    "Status",
    "StopWhen",
    "Subject",
    "Task",
    "TaskWithPayload",
    "Transaction",
    "WebhookTarget",
    "Whoami",
]
