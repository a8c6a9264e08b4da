"""A task under the names of the job API, which are in camel case."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from functions.api.runs.answers import attempts
from functions.api.tasks.forms import BatchTaskForm, FlowControlForm, RetryForm
from functions.api.tasks.targets import CamelTargetForm
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import Destination, Task

_CAMEL: Final = ConfigDict(alias_generator=to_camel)
# What their owner has named: no words of ours.
_NAMED_BY_OTHERS: Final = frozenset({"headers", "payload"})
OTHERWISE_NAMED: Final = {"task_id": "job_id", "next_run_at": "next_run", "error": "failure_reason"}
LEFT_OUT: Final = frozenset({"history", "last_run"})
# Each has those of the other kind as well: null where they make no sense.
_OF_ONE_KIND: Final = (
    *("run_at", "expires_at"),
    *("cron", "timezone", "start_at", "end_at", "max_runs", "jitter_seconds", "overlap", "catch_up"),
    *("catch_up_window_seconds", "expires_after_seconds", "changed_at", "reason"),
)


class JobRetryForm(RetryForm):
    model_config = _CAMEL


class JobFlowControlForm(FlowControlForm):
    """`rate`, `parallelism` or both are needed. Only with a `rate` may `periodSeconds` differ from its default."""

    model_config = _CAMEL


class JobForm(BatchTaskForm):
    """Exactly one of `runAt`, `delaySeconds` and `cron` is needed; further rules as for a task. Without a `target` the
    job goes to the tenant's default target.
    """

    model_config = _CAMEL

    tells_key = True

    target: CamelTargetForm | None = None  # type: ignore[assignment]
    retry: JobRetryForm = JobRetryForm()
    flow_control: JobFlowControlForm | None = None

    def destination(self, usual: Destination | None) -> Destination:
        given = usual if self.target is None else self.target.destination()
        if given is None:
            raise ValidationFailed([("target", "is needed: the tenant has no default target")])
        return given


def view(task: Mapping[str, Any]) -> dict[str, Any]:
    """Of a task as the task API tells it."""
    return {"jobId": task["task_id"], "status": task["status"]}


def details(task: Mapping[str, Any], *, key: str | None, last: Task | None) -> dict[str, Any]:
    """All of a task as the task API tells it, and its Idempotency-Key. `last` is the run that was tried last, if there
    is one."""
    told = {OTHERWISE_NAMED.get(name, name): value for name, value in task.items() if name not in LEFT_OUT}
    tried = {
        "idempotency_key": key,
        "attempts": last.attempts if last else 0,
        "failure_reason": last.error if last else None,
        "job_attempts": _attempts(last) if last else [],
    }
    return _camel(dict.fromkeys(_OF_ONE_KIND) | told | tried)


def _attempts(run: Task) -> list[dict[str, Any]]:
    return [
        {
            "attempt": each["number"],
            "worker_id": each["worker_id"],
            "lease_until": each["lease_until"],
            **{name: each[name] for name in ("started_at", "finished_at", "outcome", "error")},
        }
        for each in attempts(run)
    ]


def _camel(told: Mapping[str, Any]) -> dict[str, Any]:
    def renamed(value: Any) -> Any:
        match value:
            case Mapping():
                return _camel(value)
            case list():
                return [renamed(each) for each in value]
            case _:
                return value

    return {
        to_camel(name): value if name in _NAMED_BY_OTHERS else renamed(value) for name, value in told.items()
    }
