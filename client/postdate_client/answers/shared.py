"""Types of answers about several resources. `python client/describe.py` writes this file from the API's description."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final

from postdate_client.answers.instant import Instant

Status: TypeAlias = Literal[
    "PENDING", "RUNNING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED"
]


@final
class Problem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    code: Literal[
        "account_frozen",
        "books_disagree",
        "destination_not_allowed",
        "forbidden",
        "idempotency_in_progress",
        "idempotency_key_missing",
        "idempotency_key_reused",
        "insufficient_funds",
        "internal",
        "invalid_state",
        "limit_exceeded",
        "loop_refused",
        "malformed",
        "method_not_allowed",
        "not_found",
        "payload_too_large",
        "quota_exceeded",
        "rate_limited",
        "read_only",
        "unauthenticated",
        "unavailable",
        "unsupported_media_type",
        "validation_failed",
        "version_conflict",
    ]
    request_id: str
    errors: list[dict[str, Any]]
    state: NotRequired[str]


@final
class Actor(TypedDict):
    type: Literal["key", "function", "operation", "aws", "unknown"]
    id: str


@final
class Subject(TypedDict):
    kind: str
    id: str
    account_ids: NotRequired[list[str]]


@final
class Event(TypedDict):
    event_id: str
    type: str
    sequence: int
    occurred_at: Instant
    recorded_at: Instant | None
    actor: Actor
    subject: Subject
    data: dict[str, Any]
    reconstructed: NotRequired[bool]


@final
class Attempt(TypedDict):
    number: int
    worker_id: str | None
    lease_until: Instant | None
    started_at: Instant
    finished_at: Instant | None
    outcome: Literal["RUNNING", "SUCCEEDED", "FAILED"]
    http_status: int | None
    error: str | None


@final
class Run(TypedDict):
    run_id: str
    planned_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    lateness_ms: int | None
    status: Status
    reason: str | None
    task_id: str
    attempts: list[Attempt]
    next_attempt_at: Instant | None
    token: int
    lease_until: Instant | None
    version: int


@final
class Eligible(TypedDict):
    count: int
    amount: NotRequired[int | None]
    evaluated: NotRequired[int]
    by_failure: NotRequired[dict[str, int]]
    by_destination: NotRequired[dict[str, int]]


@final
class NotEligible(TypedDict):
    reason: str
    count: int


@final
class StopWhen(TypedDict):
    failed_share: float
    within: int


Operation = TypedDict(
    "Operation",
    {
        "from": NotRequired[Instant],
        "to": NotRequired[Instant],
        "operation_id": str,
        "action": str,
        "state": Literal["PLANNED", "RUNNING", "PAUSED", "STOPPED", "DONE", "ABORTED"],
        "eligible": Eligible,
        "done": int,
        "reason": str | None,
        "created_at": Instant,
        "finished_at": Instant | None,
        "task_id": NotRequired[str],
        "kind": NotRequired[Literal["tasks", "payments", "plans"]],
        "actor": NotRequired[str],
        "not_eligible": NotRequired[list[NotEligible]],
        "waiting": NotRequired[int],
        "sent": NotRequired[int],
        "failed": NotRequired[int],
        "changed": NotRequired[int],
        "missing": NotRequired[int],
        "stopped_because": NotRequired[str | None],
        "max_per_second": NotRequired[int],
        "canary": NotRequired[int | None],
        "stop_when": NotRequired[StopWhen | None],
        "started_at": NotRequired[Instant | None],
        "version": NotRequired[int],
    },
)
