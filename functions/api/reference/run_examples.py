"""Answers about a recurring task and its runs, made by what makes them: a report on working days."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.forms import text_of
from functions.api.jobs import forms as jobs
from functions.api.operations import view as operations
from functions.api.operations.backfill import Backfill
from functions.api.runs import answers as runs
from functions.api.tasks import recurring_view
from postdate.domain import definition as definitions
from postdate.domain import limits, preview, transitions
from postdate.domain.backfill import STEP_RUNS, Progress, Step
from postdate.domain.backfill import State as Running
from postdate.domain.cron import Cron
from postdate.domain.definition import HOME_MINUTE, Definition, State, Template
from postdate.domain.due import Due, Via
from postdate.domain.recurrence import Runs
from postdate.domain.schedule import Schedule
from postdate.domain.slots import ShardPlan, Slot, item_id
from postdate.domain.task import KIND, OPERATION_KIND, Ack, Destination, Payload, Task
from postdate.domain.transitions import Failure, Transition

_CREATED: Final = datetime(2026, 11, 17, 15, 30, 12, 408_000, tzinfo=UTC)
_ID: Final = item_id(KIND, Slot(minute=HOME_MINUTE, shard=3), bytes(range(80, 90)))


def answers(queue_url: str) -> dict[str, Any]:
    definition = _definition(queue_url)
    run = _run(definition)
    later = run.planned_at + timedelta(hours=1)
    told = recurring_view.view(definition, runs=[run], now=later)
    cancelled = recurring_view.view(_cancelled(definition, later), runs=[run], now=later)
    job = jobs.details(told, key="open-orders", last=run)
    first = datetime(2026, 10, 24, tzinfo=UTC)
    planned = preview.preview(Schedule(cron=Cron.parse("30 2 * * *", "Europe/Berlin")), first=first, count=3)
    return {
        "RecurringTask": told,
        "RecurringTaskWithPayload": {**told, "payload": {"report": "open orders"}},
        "CancelledRecurringTask": {"success": True, **cancelled},
        "Run": runs.of(run),
        "RunList": {"runs": [runs.of(run)], "next_cursor": None, "partial": False},
        "Preview": {
            "next": [{"at": text_of(each.at), "local": each.local, "note": each.note} for each in planned]
        },
        "TenantLimits": limits.told(),
        "Operation": operations.view(_backfill(definition, later)),
        "Job": jobs.view(told),
        "JobDetails": job,
        "JobDetailsWithPayload": {**job, "payload": {"report": "open orders"}},
        "JobList": {"jobs": [job], "nextCursor": None, "partial": False},
        "CancelledJob": {"status": State.CANCELLED.value},
    }


def _backfill(definition: Definition, now: datetime) -> Backfill:
    first = datetime(2026, 10, 1, tzinfo=UTC)
    unique = bytes(range(60, 70))
    step = Step(
        operation=item_id(OPERATION_KIND, ShardPlan.parse("0=8").slot(now, unique), unique),
        schedule=definition.schedule,
        first=first,
        last=datetime(2026, 11, 1, tzinfo=UTC),
        total=22,
        each=STEP_RUNS,
    )
    return Backfill(
        id=step.operation,
        task_id=definition.id,
        asked_at=now,
        step=step,
        progress=Progress(state=Running.RUNNING, done=0, total=22),
    )


def _definition(queue_url: str) -> Definition:
    plan = Schedule.checked(
        cron=Cron.parse("30 8 * * MON-FRI", "Europe/Berlin"), definition_id=_ID, jitter_seconds=60
    )
    return Definition(
        id=_ID,
        tenant="demo",
        state=State.ACTIVE,
        version=1,
        plan=1,
        schedule=plan,
        template=Template(
            destination=Destination(type="sqs", address=queue_url),
            payload=Payload(text='{"report":"open orders"}'),
            timeout_seconds=600,
            ack=Ack.EXPLICIT,
        ),
        created_at=_CREATED,
        changed_at=_CREATED,
        name="open-orders",
    )


def _cancelled(definition: Definition, now: datetime) -> Definition:
    return definitions.cancel(definition, now=now) or definition


def _run(definition: Definition) -> Task:
    """Failed once by its receiver's word, and waits to be tried again."""
    run = Runs(shards=ShardPlan.parse("0=4")).first(definition, now=_CREATED)
    assert run is not None  # noqa: S101 (its plan has no end)
    began_at = run.due_at + timedelta(milliseconds=9)
    claimed = transitions.claim(
        run,
        Due.of(run),
        now=began_at,
        lease=timedelta(seconds=40),
        holder="example",
        repeated=False,
        why=Via.SWEEP,
    )
    assert isinstance(claimed, Transition)  # noqa: S101 (it was due)
    accepted = transitions.accept(claimed.after, now=began_at + timedelta(milliseconds=12))
    failure = Failure(why="the disk is full")
    return transitions.fail(
        accepted.after, now=began_at + timedelta(seconds=8), failure=failure, draw=0.5
    ).after
