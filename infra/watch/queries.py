"""Queries of Logs Insights that the stack saves, as data: an operator finds them under the environment's name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postdate.runtime.metric import ATTEMPTS_FAILED, DELAYS, LONG_WAITS, RETRY_ARMS, Metric


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """`question` is the query's first line, a comment. `functions` are those whose logs it reads. A word in capitals
    is to be replaced before the query runs."""

    name: str
    question: str
    functions: tuple[str, ...]
    commands: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n| ".join((f"# {self.question}\n{self.commands[0]}", *self.commands[1:]))


_ALL: Final = ("api", "authorize", "sweep", "run_tasks", "settle")


def _sums(*metrics: Metric) -> str:
    return ", ".join(f"sum({_field(each)}) as {each.name.rpartition('_')[2]}" for each in metrics)


def _field(counted: Metric) -> str:
    """A count in the line of metrics. A series of CloudWatch is a list of values there."""
    return counted.name if counted.in_logs else f"{counted.name}.0"


def _by_arm(metrics: Mapping[Any, Metric]) -> str:
    return ", ".join(f"sum({each.name}) as {each.name.partition('_')[2]}" for each in metrics.values())


QUERIES: Final = (
    Query(
        name="one_item",
        question="Everything that is logged about a payment or a task, from its registration to its outcome.",
        functions=_ALL,
        commands=("filter @message like /ITEM_ID/", "sort @timestamp asc", "limit 1000"),
    ),
    Query(
        name="one_request",
        question="The lines of one request. They name the items that it registered or changed.",
        functions=("api",),
        commands=('filter request_id = "REQUEST_ID"', "sort @timestamp asc", "limit 100"),
    ),
    Query(
        name="errors",
        question="Errors by function and action.",
        functions=_ALL,
        commands=(
            'filter level = "ERROR"',
            "stats count(*) as errors by service, action",
            "sort errors desc",
        ),
    ),
    Query(
        name="failed_requests",
        question="Requests that were answered with 5xx.",
        functions=("api",),
        commands=(
            "filter status >= 500",
            "stats count(*) as requests by status, method, path",
            "sort requests desc",
            "limit 50",
        ),
    ),
    Query(
        name="requests_by_tenant",
        question="Requests by tenant and key, the busiest first.",
        functions=("api",),
        commands=(
            "filter ispresent(status)",
            "stats count(*) as requests by tenant, key_id",
            "sort requests desc",
            "limit 20",
        ),
    ),
    Query(
        name="failed_payments",
        question="Failed payments by reason.",
        functions=("settle",),
        commands=(
            'filter action = "failed"',
            "stats count(*) as payments by reason",
            "sort payments desc",
            "limit 50",
        ),
    ),
    Query(
        name="late_payments",
        question="Payments that ended more than a second after their instant.",
        functions=("settle",),
        commands=(
            'filter action = "payment_executed" and latency_ms > 1000',
            "fields @timestamp, payment_id, status, latency_ms",
            "sort latency_ms desc",
            "limit 100",
        ),
    ),
    Query(
        name="parked_payments",
        question="Payments that wait for a person, and accounts that contradict them.",
        functions=("settle",),
        commands=(
            'filter action in ["parked", "hold_missing", "moved_already", "not_failed"]',
            "fields @timestamp, action, payment, account, reason",
            "sort @timestamp desc",
            "limit 100",
        ),
    ),
    Query(
        name="failed_attempts",
        question="Failed attempts at tasks by reason.",
        functions=("run_tasks",),
        commands=(
            'filter action in ["retry", "dead", "expired"]',
            "stats count(*) as attempts by action, reason",
            "sort attempts desc",
            "limit 50",
        ),
    ),
    Query(
        name="failure_classes",
        question="Failed attempts by class.",
        functions=("run_tasks",),
        commands=(f"stats {_sums(*ATTEMPTS_FAILED.values())} by bin(5m)",),
    ),
    Query(
        name="destinations_down",
        question="Circuit breakers that opened, by tenant and destination.",
        functions=("run_tasks",),
        commands=(
            'filter action = "breaker_opened"',
            "stats count(*) as opened by tenant, destination",
            "sort opened desc",
        ),
    ),
    Query(
        name="overdue_items",
        question="Items that only the audit of the sweep found.",
        functions=("sweep",),
        commands=('filter action = "overdue"', "fields @timestamp, count, items", "sort @timestamp desc"),
    ),
    Query(
        name="active_payers",
        question="Accounts that registered a payment, by day.",
        functions=("api",),
        commands=(
            'filter action = "payment_scheduled"',
            "stats count_distinct(from_account_id) as payers, sum(amount) as money by bin(1d)",
        ),
    ),
    Query(
        name="cancelled_and_rescheduled",
        question="Payments and tasks that were cancelled or rescheduled, beside those that were registered.",
        functions=("api",),
        commands=(
            "stats sum(PaymentsScheduled) as payments, sum(PaymentsCancelled) as payments_cancelled, "
            "sum(PaymentsRescheduled) as payments_rescheduled, sum(TasksScheduled) as tasks, "
            "sum(TasksCancelled) as tasks_cancelled, sum(TasksRescheduled) as tasks_rescheduled by bin(1h)",
        ),
    ),
    Query(
        name="delays",
        question="The distribution of delays at registration.",
        functions=("api",),
        commands=(f"stats {_sums(*DELAYS.values())} by bin(1h)",),
    ),
    Query(
        name="dependencies_failing",
        question="Breakers of tables and services that opened, or opened again after a try.",
        functions=("api", "run_tasks", "settle"),
        commands=("stats sum(DependenciesOpened) as opened by bin(5m)",),
    ),
    Query(
        name="arms_of_retries",
        question="The experiment task_retries: outcomes of retries by arm.",
        functions=("run_tasks",),
        commands=(f"stats {_by_arm(RETRY_ARMS)} by bin(1h)",),
    ),
    Query(
        name="arms_of_long_waits",
        question="The flag long_waits: answers of requests that wait for an event, by tenants with and without it.",
        functions=("api",),
        commands=(f"stats {_by_arm(LONG_WAITS)} by bin(1h)",),
    ),
)
