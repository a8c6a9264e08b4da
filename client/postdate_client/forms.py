"""Types of request forms: what the methods of the client take to register or to change something.

A field whose name is a word of Python ends with `_`: `from_` is the `from` of the API. Instants are `datetime`s with a
time zone, or texts. `python client/describe.py` writes this file from the API's description.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from postdate_client.answers import Instant


class PaymentForm(TypedDict):
    """Exactly one of `scheduled_time` and `delay_seconds` is needed."""

    from_account_id: str
    to_account_id: str
    amount: int
    description: NotRequired[str | None]
    funding: NotRequired[Literal["reserve", "at_execution"]]
    metadata: NotRequired[Mapping[str, str]]
    delay_seconds: NotRequired[int | None]
    scheduled_time: NotRequired[datetime | Instant | None]


class BatchPaymentForm(PaymentForm):
    """A payment of a batch, with its own key. Exactly one of `scheduled_time` and `delay_seconds` is needed."""

    idempotency_key: NotRequired[str | None]


class PaymentChangeForm(TypedDict):
    """At least one field is needed. `scheduled_time` and `delay_seconds` exclude each other."""

    amount: NotRequired[int | None]
    description: NotRequired[str | None]
    metadata: NotRequired[Mapping[str, str] | None]
    scheduled_time: NotRequired[datetime | Instant | None]
    delay_seconds: NotRequired[int | None]


class LimitsForm(TypedDict):
    amount_min: NotRequired[int]
    amount_max: NotRequired[int]
    delay_seconds_min: NotRequired[int]
    delay_seconds_max: NotRequired[int]


class AccountForm(TypedDict):
    account_id: str
    limits: NotRequired[LimitsForm]


class LimitsChangeForm(TypedDict):
    """At least one field is needed."""

    amount_min: NotRequired[int | None]
    amount_max: NotRequired[int | None]
    delay_seconds_min: NotRequired[int | None]
    delay_seconds_max: NotRequired[int | None]


class AccountChangeForm(TypedDict):
    limits: LimitsChangeForm


class DepositForm(TypedDict):
    amount: int
    reference: NotRequired[str | None]
    description: NotRequired[str | None]
    metadata: NotRequired[Mapping[str, str]]


class AdjustmentForm(TypedDict):
    """An adjustment by an amount, or to what the journal says."""

    amount: NotRequired[int | None]
    to_journal: NotRequired[Literal[True] | None]
    reason: str


class WebhookForm(TypedDict):
    type: Literal["webhook"]
    url: str
    method: NotRequired[Literal["POST", "PUT", "PATCH"]]
    headers: NotRequired[Mapping[str, str]]


class SqsForm(TypedDict):
    type: Literal["sqs"]
    queue_url: str


class SnsForm(TypedDict):
    type: Literal["sns"]
    topic_arn: str


class EventBridgeForm(TypedDict):
    type: Literal["eventbridge"]
    bus: str
    detail_type: str


class RetryForm(TypedDict):
    max_attempts: NotRequired[int]
    initial_seconds: NotRequired[float]
    multiplier: NotRequired[float]
    max_seconds: NotRequired[float]
    jitter: NotRequired[bool]


class FlowControlForm(TypedDict):
    """`rate`, `parallelism` or both are needed. Only with a `rate` may `period_seconds` differ from its default."""

    key: str
    rate: NotRequired[int | None]
    period_seconds: NotRequired[int]
    parallelism: NotRequired[int | None]


class TaskForm(TypedDict):
    """Exactly one of `run_at`, `delay_seconds` and `cron` is needed. With a `cron` the task is a recurring one; only
    then may `timezone`, `start_at`, `end_at`, `max_runs`, `jitter_seconds`, `overlap`, `catch_up` and
    `catch_up_window_seconds` differ from their defaults. `spread_seconds` is for tasks that run once. At most one of
    `payload` and `payload_ref` is given."""

    run_at: NotRequired[datetime | Instant | None]
    delay_seconds: NotRequired[int | None]
    cron: NotRequired[str | None]
    spread_seconds: NotRequired[int | None]
    timezone: NotRequired[str]
    start_at: NotRequired[datetime | Instant | None]
    end_at: NotRequired[datetime | Instant | None]
    max_runs: NotRequired[int | None]
    jitter_seconds: NotRequired[int]
    overlap: NotRequired[Literal["skip", "allow", "queue"]]
    catch_up: NotRequired[Literal["latest", "all", "none"]]
    catch_up_window_seconds: NotRequired[int]
    target: WebhookForm | SqsForm | SnsForm | EventBridgeForm
    payload: NotRequired[Any]
    payload_ref: NotRequired[str | None]
    retry: NotRequired[RetryForm]
    timeout_seconds: NotRequired[int]
    ack: NotRequired[Literal["response", "explicit"]]
    expires_after_seconds: NotRequired[int | None]
    flow_control: NotRequired[FlowControlForm | None]
    name: NotRequired[str | None]
    tags: NotRequired[list[str]]


class BatchTaskForm(TaskForm):
    """A task of a batch. Exactly one of `run_at`, `delay_seconds` and `cron` is needed; further rules as for a single
    task."""

    idempotency_key: NotRequired[str | None]


class TaskChangeForm(TypedDict):
    """At least one field is needed. `run_at` and `delay_seconds` exclude each other, and so do `payload` and
    `payload_ref`. Of a one-time task, `run_at`, `delay_seconds`, `target`, `payload`, `payload_ref`, `retry` and
    `flow_control` can be changed; of a recurring task, all but `run_at` and `delay_seconds`."""

    run_at: NotRequired[datetime | Instant | None]
    delay_seconds: NotRequired[int | None]
    cron: NotRequired[str | None]
    timezone: NotRequired[str | None]
    start_at: NotRequired[datetime | Instant | None]
    end_at: NotRequired[datetime | Instant | None]
    max_runs: NotRequired[int | None]
    jitter_seconds: NotRequired[int | None]
    overlap: NotRequired[Literal["skip", "allow", "queue"] | None]
    catch_up: NotRequired[Literal["latest", "all", "none"] | None]
    catch_up_window_seconds: NotRequired[int | None]
    target: NotRequired[WebhookForm | SqsForm | SnsForm | EventBridgeForm | None]
    payload: NotRequired[Any]
    payload_ref: NotRequired[str | None]
    retry: NotRequired[RetryForm | None]
    timeout_seconds: NotRequired[int | None]
    ack: NotRequired[Literal["response", "explicit"] | None]
    expires_after_seconds: NotRequired[int | None]
    flow_control: NotRequired[FlowControlForm | None]
    name: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class PreviewForm(TypedDict):
    """Exactly one of `cron` and `task_id` is needed. `timezone` goes with a `cron` only."""

    timezone: NotRequired[str | None]
    task_id: NotRequired[str | None]
    from_: NotRequired[datetime | Instant | None]
    count: NotRequired[int]


class PauseForm(TypedDict):
    reason: NotRequired[str | None]


class BackfillForm(TypedDict):
    from_: datetime | Instant
    to: datetime | Instant


class CompleteForm(TypedDict):
    token: int | str


class FailForm(TypedDict):
    token: int | str
    error: NotRequired[str | None]
    final: NotRequired[bool]


class HeartbeatForm(TypedDict):
    token: int | str
    extend_seconds: NotRequired[int | None]


OperationFilterForm = TypedDict(
    "OperationFilterForm",
    {
        "status": NotRequired[str | None],
        "name": NotRequired[str | None],
        "tag": NotRequired[str | None],
        "destination": NotRequired[str | None],
        "failure": NotRequired[str | None],
        "account_id": NotRequired[str | None],
        "from": NotRequired[datetime | Instant | None],
        "until": NotRequired[datetime | Instant | None],
        "metadata": NotRequired[Mapping[str, str]],
    },
)


class StopWhenForm(TypedDict):
    """Both fields are needed."""

    failed_share: float
    within: int


class OperationForm(TypedDict):
    """Exactly one of `ids` and `filter` is needed."""

    ids: NotRequired[list[str] | None]
    filter: NotRequired[OperationFilterForm | None]
    max_per_second: NotRequired[int]
    reason: str
    action: Literal["redrive", "retry", "cancel", "discard", "pause", "resume"]
    kind: Literal["tasks", "payments", "plans"]
    dry_run: NotRequired[bool]
    canary: NotRequired[int | None]
    stop_when: NotRequired[StopWhenForm | None]
