"""Types of the answers about operations. `python client/describe.py` writes this file from the API's description."""

from typing import Literal, NotRequired, TypedDict, final

from postdate_client.answers.instant import Instant


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
