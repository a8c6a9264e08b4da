"""Examples of answers about a recurring task and its runs: a report on each weekday."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.forms import text_of
from functions.api.jobs import answers as jobs
from functions.api.limits import answers as limits
from functions.api.operations import answers as bulk
from functions.api.operations import view as operations
from functions.api.operations.backfill import Backfill
from functions.api.runs import answers as runs
from functions.api.tasks.recurring import answers as recurring
from postdate.domain import definition as definitions
from postdate.domain import preview, transitions, verdicts
from postdate.domain.backfill import STEP_RUNS, BackfillProgress, BackfillStep
from postdate.domain.backfill import State as Running
from postdate.domain.cron import Cron
from postdate.domain.definition import HOME_MINUTE, Definition, State
from postdate.domain.due import Due, Via
from postdate.domain.operation import Action, Kind, Operation, OperationRequest
from postdate.domain.operation import State as Carried
from postdate.domain.operation_moves import started
from postdate.domain.operation_pages import Entry, Outcome
from postdate.domain.recurrence import Runs
from postdate.domain.schedule import Schedule
from postdate.domain.slots import ShardPlan, Slot, item_id
from postdate.domain.task import KIND, OPERATION_KIND, Ack, Destination, Payload, Task, Template
from postdate.domain.transitions import Failure, Transition
from postdate.stores.tenants import Tenant

_CREATED: Final = datetime(2026, 11, 17, 15, 30, 12, 408_000, tzinfo=UTC)
_ID: Final = item_id(KIND, Slot(minute=HOME_MINUTE, shard=3), bytes(range(80, 90)))


def answers(queue_url: str) -> dict[str, Any]:
    definition = _definition(queue_url)
    run = _run(definition)
    later = run.planned_at + timedelta(hours=1)
    told = recurring.of(definition, runs=[run], now=later)
    cancelled = recurring.of(_cancelled(definition, later), runs=[run], now=later)
    job = jobs.details(told, key="open-orders", last=run)
    first = datetime(2026, 10, 24, tzinfo=UTC)
    planned = preview.preview(Schedule(cron=Cron.parse("30 2 * * *", "Europe/Berlin")), first=first, count=3)
    return {
        "RecurringTask": told,
        "RecurringTaskWithPayload": {**told, "payload": {"report": "open orders"}},
        "CancelledRecurringTask": {"success": True, **cancelled},
        "Run": runs.of(run),
        "RunList": {"runs": [runs.of(run)], "next_cursor": None, "partial": False},
        "Preview": recurring.planned(planned),
        "TenantLimits": limits.limits(Tenant(id="demo"), registered=250, tasks_stored=4_500, workers=200),
        "Operation": operations.view(_backfill(definition, later)),
        "Job": jobs.of(told),
        "OperationList": {"operations": [bulk.of(_redrive(run, later))], "next_cursor": None},
        "DeadLetterList": {
            "queue": "tasks",
            "groups": [
                {
                    "failure": "http 503",
                    "destination": run.destination.address,
                    "count": 2,
                    "oldest": text_of(later),
                }
            ],
            "next_cursor": None,
        },
        "OperationItemList": {
            "items": [bulk.item(Entry(id=run.id, version=run.version, outcome=Outcome.SENT, at=later))],
            "next_cursor": None,
        },
        "JobDetails": job,
        "JobDetailsWithPayload": {**job, "payload": {"report": "open orders"}},
        "JobList": {"jobs": [job], "nextCursor": None, "partial": False},
        "CancelledJob": {"status": State.CANCELLED.value},
    }


def _redrive(run: Task, now: datetime) -> Operation:
    unique = bytes(range(70, 80))
    planned = Operation(
        id=ShardPlan.parse("0=8").item_id(OPERATION_KIND, now, unique),
        tenant=run.tenant,
        request=OperationRequest(
            action=Action.REDRIVE,
            kind=Kind.TASKS,
            actor="7c3d1b0a9f2e4d58",
            reason="the receiver is back",
            canary=1,
        ),
        state=Carried.PLANNED,
        version=1,
        created_at=now,
        changed_at=now,
        eligible=2,
        not_eligible={"is SUCCEEDED, not DEAD": 1},
        by_failure={"http 503": 2},
        by_destination={run.destination.address: 2},
        counts={Outcome.SENT: 1, Outcome.WAITING: 1},
    )
    return started(planned, run=1, now=now)


def _backfill(definition: Definition, now: datetime) -> Backfill:
    first = datetime(2026, 10, 1, tzinfo=UTC)
    unique = bytes(range(60, 70))
    step = BackfillStep(
        operation=ShardPlan.parse("0=8").item_id(OPERATION_KIND, now, unique),
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
        progress=BackfillProgress(state=Running.RUNNING, done=0, total=22),
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
    claimed = verdicts.claim(
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
