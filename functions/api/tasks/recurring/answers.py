"""Answers about recurring tasks."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from typing_extensions import TypedDict

from functions.api.answers import Count, Instant, Version, described, words
from functions.api.forms import text_of
from functions.api.runs.answers import RunSummary, summary
from functions.api.tasks.calls import CallAnswer, Payload, call_answer
from postdate.domain import catch_up, definition, preview
from postdate.domain.definition import Definition
from postdate.domain.task import State, Task
from postdate.use_cases.planned_chain import next_run_at

_SECOND: Final = timedelta(seconds=1)


class RecurringTask(CallAnswer):
    task_id: str
    status: Annotated[
        str,
        words(definition.State),
        described("FINISHED means that no run is left; a change may plan new ones. CANCELLED is final."),
    ]
    name: str | None
    tags: list[str]
    cron: str
    timezone: str
    start_at: Instant | None
    end_at: Instant | None
    max_runs: Count | None
    jitter_seconds: Count
    overlap: Annotated[str, words(definition.Overlap)]
    catch_up: Annotated[str, words(catch_up.CatchUp)]
    catch_up_window_seconds: Count
    next_run_at: Annotated[
        Instant | None, described("The instant of the next run with its jitter; null if none is planned.")
    ]
    last_run: Annotated[
        RunSummary | None,
        described(
            "The newest run whose instant has passed, begun or not. It may be a moment behind. The answer to a change "
            "has null while the runs cannot be listed."
        ),
    ]
    reason: Annotated[str | None, described("The reason of a pause, if the request gave one.")]
    expires_after_seconds: Count | None
    created_at: Instant
    changed_at: Instant
    version: Version


class RecurringTaskWithPayload(RecurringTask):
    payload: Payload


class CancelledRecurringTask(RecurringTask):
    success: Literal[True]


class PlannedRun(TypedDict):
    at: Annotated[Instant, described("The instant of the run.")]
    local: Annotated[str, described("The same instant on the clocks of the time zone.")]
    note: Annotated[str | None, described("A change of clocks, or the jitter, that moved the run.")]


class Preview(TypedDict):
    next: list[PlannedRun]


def of(given: Definition, *, runs: Sequence[Task], now: datetime) -> RecurringTask:
    """A recurring task as its owner sees it. `runs` are its newest runs, the newest first."""
    schedule, template = given.schedule, given.template
    last = next((run for run in runs if run.state is not State.PENDING and run.planned_at <= now), None)
    expires = template.expires_after
    return {
        "task_id": given.id,
        "status": given.state.value,
        "name": given.name,
        "tags": list(given.tags),
        "cron": schedule.cron.text,
        "timezone": schedule.cron.timezone,
        "start_at": text_of(schedule.start_at),
        "end_at": text_of(schedule.end_at),
        "max_runs": schedule.max_runs,
        "jitter_seconds": schedule.jitter_seconds,
        "overlap": given.overlap.value,
        "catch_up": given.catch_up.value,
        "catch_up_window_seconds": given.catch_up_window // _SECOND,
        "next_run_at": text_of(next_run_at(given, runs=runs, now=now)),
        "last_run": None if last is None else summary(last),
        "reason": given.reason,
        **call_answer(template),
        "expires_after_seconds": None if expires is None else expires // _SECOND,
        "created_at": text_of(given.created_at),
        "changed_at": text_of(given.changed_at),
        "version": given.version,
    }


def planned(found: Iterable[preview.Planned]) -> Preview:
    return {"next": [{"at": text_of(each.at), "local": each.local, "note": each.note} for each in found]}
