"""A recurring task as its owner sees it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from functions.api.forms import text_of
from functions.api.runs.answers import summary
from functions.api.tasks import targets
from functions.api.tasks.chain import next_run_at
from functions.api.tasks.view import flow_control, retry
from postdate.domain.definition import Definition
from postdate.domain.task import State, Task

_SECOND: Final = timedelta(seconds=1)


def view(definition: Definition, *, runs: Sequence[Task], now: datetime) -> dict[str, Any]:
    """`runs` are its newest ones, the newest first."""
    plan, template = definition.schedule, definition.template
    last = next((run for run in runs if run.state is not State.PENDING and run.planned_at <= now), None)
    expires = template.expires_after
    return {
        "task_id": definition.id,
        "status": definition.state.value,
        "name": definition.name,
        "tags": list(definition.tags),
        "target": targets.view(template.destination),
        "payload_ref": template.payload.ref,
        "cron": plan.cron.text,
        "timezone": plan.cron.timezone,
        "start_at": text_of(plan.start_at),
        "end_at": text_of(plan.end_at),
        "max_runs": plan.max_runs,
        "jitter_seconds": plan.jitter_seconds,
        "overlap": definition.overlap.value,
        "catch_up": definition.catch_up.value,
        "catch_up_window_seconds": definition.catch_up_window // _SECOND,
        "next_run_at": text_of(next_run_at(definition, runs=runs, now=now)),
        "last_run": None if last is None else summary(last),
        "reason": definition.reason,
        "retry": retry(template.retry),
        "timeout_seconds": template.timeout_seconds,
        "ack": template.ack.value,
        "expires_after_seconds": None if expires is None else expires // _SECOND,
        "flow_control": flow_control(template.flow),
        "created_at": text_of(definition.created_at),
        "changed_at": text_of(definition.changed_at),
        "version": definition.version,
    }
