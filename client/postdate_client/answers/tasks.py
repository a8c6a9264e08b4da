"""Types of answers about tasks. `python client/describe.py` writes this file from the API's description."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final

from postdate_client.answers.instant import Instant
from postdate_client.answers.shared import Problem, Run, Status


@final
class WebhookTarget(TypedDict):
    type: Literal["webhook"]
    url: str
    method: str
    headers: dict[str, str]


@final
class SqsTarget(TypedDict):
    type: Literal["sqs"]
    queue_url: str


@final
class SnsTarget(TypedDict):
    type: Literal["sns"]
    topic_arn: str


@final
class EventBridgeTarget(TypedDict):
    type: Literal["eventbridge"]
    bus: str
    detail_type: str


@final
class Retry(TypedDict):
    max_attempts: int
    initial_seconds: float
    multiplier: float
    max_seconds: float
    jitter: bool


@final
class FlowControl(TypedDict):
    key: str
    rate: int | None
    period_seconds: int
    parallelism: int | None


@final
class LastRun(TypedDict):
    planned_at: Instant
    started_at: Instant
    finished_at: Instant | None
    lateness_ms: int
    token: int
    status: Literal["RUNNING", "SUCCEEDED", "FAILED"]


@final
class HistoryLine(TypedDict):
    version: int
    at: Instant
    status: Status
    attempt: int
    reason: str


@final
class Task(TypedDict):
    target: WebhookTarget | SqsTarget | SnsTarget | EventBridgeTarget
    payload_ref: str | None
    retry: Retry
    timeout_seconds: int
    ack: Literal["response", "explicit"]
    flow_control: FlowControl | None
    task_id: str
    status: Status
    name: str | None
    tags: list[str]
    run_at: Instant
    next_run_at: Instant | None
    attempts: int
    last_run: LastRun | None
    error: str | None
    expires_at: Instant | None
    created_at: Instant
    version: int
    history: list[HistoryLine]


@final
class RunSummary(TypedDict):
    run_id: str
    planned_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    lateness_ms: int | None
    status: Status
    reason: str | None


@final
class RecurringTask(TypedDict):
    target: WebhookTarget | SqsTarget | SnsTarget | EventBridgeTarget
    payload_ref: str | None
    retry: Retry
    timeout_seconds: int
    ack: Literal["response", "explicit"]
    flow_control: FlowControl | None
    task_id: str
    status: Literal["ACTIVE", "PAUSED", "FINISHED", "CANCELLED"]
    name: str | None
    tags: list[str]
    cron: str
    timezone: str
    start_at: Instant | None
    end_at: Instant | None
    max_runs: int | None
    jitter_seconds: int
    overlap: Literal["skip", "allow", "queue"]
    catch_up: Literal["latest", "all", "none"]
    catch_up_window_seconds: int
    next_run_at: Instant | None
    last_run: RunSummary | None
    reason: str | None
    expires_after_seconds: int | None
    created_at: Instant
    changed_at: Instant
    version: int


@final
class TaskResult(TypedDict):
    index: int
    task: NotRequired[Task | RecurringTask]
    error: NotRequired[Problem]


@final
class TaskWithPayload(TypedDict):
    target: WebhookTarget | SqsTarget | SnsTarget | EventBridgeTarget
    payload_ref: str | None
    retry: Retry
    timeout_seconds: int
    ack: Literal["response", "explicit"]
    flow_control: FlowControl | None
    task_id: str
    status: Status
    name: str | None
    tags: list[str]
    run_at: Instant
    next_run_at: Instant | None
    attempts: int
    last_run: LastRun | None
    error: str | None
    expires_at: Instant | None
    created_at: Instant
    version: int
    history: list[HistoryLine]
    payload: Any


@final
class RecurringTaskWithPayload(TypedDict):
    target: WebhookTarget | SqsTarget | SnsTarget | EventBridgeTarget
    payload_ref: str | None
    retry: Retry
    timeout_seconds: int
    ack: Literal["response", "explicit"]
    flow_control: FlowControl | None
    task_id: str
    status: Literal["ACTIVE", "PAUSED", "FINISHED", "CANCELLED"]
    name: str | None
    tags: list[str]
    cron: str
    timezone: str
    start_at: Instant | None
    end_at: Instant | None
    max_runs: int | None
    jitter_seconds: int
    overlap: Literal["skip", "allow", "queue"]
    catch_up: Literal["latest", "all", "none"]
    catch_up_window_seconds: int
    next_run_at: Instant | None
    last_run: RunSummary | None
    reason: str | None
    expires_after_seconds: int | None
    created_at: Instant
    changed_at: Instant
    version: int
    payload: Any


@final
class CancelledTask(TypedDict):
    target: WebhookTarget | SqsTarget | SnsTarget | EventBridgeTarget
    payload_ref: str | None
    retry: Retry
    timeout_seconds: int
    ack: Literal["response", "explicit"]
    flow_control: FlowControl | None
    task_id: str
    status: Status
    name: str | None
    tags: list[str]
    run_at: Instant
    next_run_at: Instant | None
    attempts: int
    last_run: LastRun | None
    error: str | None
    expires_at: Instant | None
    created_at: Instant
    version: int
    history: list[HistoryLine]
    success: Literal[True]


@final
class CancelledRecurringTask(TypedDict):
    target: WebhookTarget | SqsTarget | SnsTarget | EventBridgeTarget
    payload_ref: str | None
    retry: Retry
    timeout_seconds: int
    ack: Literal["response", "explicit"]
    flow_control: FlowControl | None
    task_id: str
    status: Literal["ACTIVE", "PAUSED", "FINISHED", "CANCELLED"]
    name: str | None
    tags: list[str]
    cron: str
    timezone: str
    start_at: Instant | None
    end_at: Instant | None
    max_runs: int | None
    jitter_seconds: int
    overlap: Literal["skip", "allow", "queue"]
    catch_up: Literal["latest", "all", "none"]
    catch_up_window_seconds: int
    next_run_at: Instant | None
    last_run: RunSummary | None
    reason: str | None
    expires_after_seconds: int | None
    created_at: Instant
    changed_at: Instant
    version: int
    success: Literal[True]


@final
class PlannedRun(TypedDict):
    at: Instant
    local: str
    note: str | None


AnyTask: TypeAlias = Task | RecurringTask


ListedTask: TypeAlias = Task | RecurringTask | Run


AnyTaskWithPayload: TypeAlias = TaskWithPayload | RecurringTaskWithPayload


AnyCancelledTask: TypeAlias = CancelledTask | CancelledRecurringTask
