"""Events of tasks, of the runs of recurring tasks, and of their plans: one a version, from the row before and after.

The kind of a subject is `task` for a task that runs once, `run` for an occurrence of a recurring task, and `plan` for
the recurring task itself.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, assert_never

from postdate.domain import definition
from postdate.domain.definition import Definition
from postdate.domain.event import UNKNOWN, Actor, Event, Subject, differences, kind_of_item
from postdate.domain.task import Destination, HistoryLine, State, Task

# The author of changes that name none: a worker's.
_WORKER: Final = Actor(type="function", id="run_tasks")


def task_event(before: Task | None, after: Task) -> Event | None:
    """The event of a task's change; None for a change that makes no version, and for a step of a backfill."""
    kind = kind_of_item(after.id)
    if kind is None or (before is not None and before.version == after.version):
        return None
    line, now = after.history[-1], task_fields(after)
    data: dict[str, Any] = {"after": now, "reason": line.why}
    if before is not None:
        data["before"] = differences(task_fields(before), now)
    return Event(
        subject=Subject(tenant=after.tenant, kind=kind, id=after.id),
        type=f"{kind}.{_named_by(line)}",
        sequence=after.version,
        occurred_at=line.at,
        actor=_author(line.by, is_first=before is None and after.recurs is None),
        data=data,
        depth=after.depth,
    )


def events_of_history(task: Task) -> list[Event]:
    """The events that the task's own history tells of. The newest one has the fields as they are now."""
    kind = kind_of_item(task.id)
    return [] if kind is None else [_of_line(task, kind, line) for line in task.history]


def _of_line(task: Task, kind: str, line: HistoryLine) -> Event:
    data: dict[str, Any] = {"reason": line.why}
    if line.version == task.version:
        data["after"] = task_fields(task)
    else:
        data["status"] = line.to.value
        # The history has no tags. Filters of subscriptions read them, so the event has those of now.
        if task.tags:
            data["after"] = {"tags": list(task.tags)}
    return Event(
        subject=Subject(tenant=task.tenant, kind=kind, id=task.id),
        type=f"{kind}.{_named_by(line)}",
        sequence=line.version,
        occurred_at=line.at,
        actor=_author(line.by, is_first=line.version == 1 and task.recurs is None),
        data=data,
        reconstructed=True,
        depth=task.depth,
    )


def plan_event(before: Definition | None, after: Definition, *, by: str) -> Event | None:
    """The event of a changed definition; None for a change that makes no version."""
    if before is not None and before.version == after.version:
        return None
    now = plan_fields(after)
    data: dict[str, Any] = {"after": now}
    if before is not None:
        data["before"] = differences(plan_fields(before), now)
    return Event(
        subject=Subject(tenant=after.tenant, kind="plan", id=after.id),
        type=f"plan.{_plan_named(before, after)}",
        sequence=after.version,
        occurred_at=after.changed_at if before is not None else after.created_at,
        actor=_author(by, is_first=before is None),
        data=data,
    )


def task_fields(task: Task) -> dict[str, Any]:
    """The fields that an event tells, under the names of the API: no payload, no header and no secret. The query of an
    address may hold one and is left out."""
    fields: dict[str, Any] = {
        "status": task.state.value,
        "task_id": task.task_id if task.recurs is not None else None,
        "name": task.name,
        "tags": list(task.tags) or None,
        "target": _target(task.destination),
        "planned_at": _text(task.planned_at),
        "next_attempt_at": _text(task.due_at) if task.state.waits else None,
        "attempts": task.attempts or None,
        "token": task.token or None,
        "finished_at": _text(task.finished_at),
        "error": task.error,
        "flow_key": task.flow.key if task.flow is not None else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def plan_fields(plan: Definition) -> dict[str, Any]:
    schedule = plan.schedule
    fields: dict[str, Any] = {
        "status": plan.state.value,
        "name": plan.name,
        "tags": list(plan.tags) or None,
        "cron": schedule.cron.text,
        "timezone": schedule.cron.zone.key,
        "start_at": _text(schedule.start_at),
        "end_at": _text(schedule.end_at),
        "max_runs": schedule.max_runs,
        "overlap": plan.overlap.value,
        "catch_up": plan.catch_up.value,
        "target": _target(plan.template.destination),
        "reason": plan.reason,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _named_by(line: HistoryLine) -> str:
    """The event's name. Only a line of a claim names a worker: a recovery raises the token of a running task, so a new
    token alone is no claim."""
    if line.to is State.PENDING:
        return "registered" if line.version == 1 else "changed"
    if line.to is State.RUNNING and line.worker is None:
        return "changed"
    return "started" if line.to is State.RUNNING else line.to.value.lower()


def _plan_named(before: Definition | None, after: Definition) -> str:
    if before is None:
        return "created"
    if before.state is after.state:
        return "changed"
    match after.state:
        case definition.State.ACTIVE:
            return "resumed" if before.state is definition.State.PAUSED else "changed"
        case definition.State.PAUSED:
            return "paused"
        case definition.State.FINISHED:
            return "finished"
        case definition.State.CANCELLED:
            return "cancelled"
        case _:
            assert_never(after.state)


def _author(by: str, *, is_first: bool) -> Actor:
    """A first version without an author may be of a release that noted none."""
    if by:
        return Actor.parse(by)
    return UNKNOWN if is_first else _WORKER


def _target(destination: Destination) -> Mapping[str, str]:
    return {"type": destination.type, "address": destination.address.partition("?")[0].partition("#")[0]}


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
