"""A backfill: one run now for each instant that a plan named in a time gone by, written in steps.

Each step is a task of its own, with a row, a call and a lease, so sweeps and audits look after it as after any other.
A step writes its runs, then the next step's row, and only then ends. Ids follow from the operation and the number of
the step, and those of runs from their wall times: whatever is done twice is written once. Steps follow the plan as it
was when they were asked for; runs call what the task calls when they are written.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice, takewhile
from typing import Final

from postdate.domain import instants, task_requests
from postdate.domain.cron import Occurrence
from postdate.domain.definition import Definition
from postdate.domain.recurs import Recurs
from postdate.domain.schedule import Schedule
from postdate.domain.schedule_values import schedule_of, values_of
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, home
from postdate.domain.task import OPERATION_KIND, Destination, Payload, Task, Template
from postdate.domain.task import State as TaskState

TARGET_TYPE: Final = "backfill"
RUNS_MAX: Final = 10_000
# About half a second of a worker: a step that took longer would be sent to the lane for slow destinations.
STEP_RUNS = 25
_TIMEOUT_SECONDS: Final = 60
# `walk` yields only later occurrences, and `first` is included.
_MOMENT: Final = timedelta(microseconds=1)


class State(StrEnum):
    """A STOPPED backfill continues after the dead letter of its step is redriven. DONE and ABORTED are final."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    STOPPED = "STOPPED"
    ABORTED = "ABORTED"


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillStep:
    """One step of a backfill."""

    # The id of the backfill, which is also the id of its first step.
    operation: str
    # The plan at the time of the request.
    schedule: Schedule
    # The first instant of the backfill.
    first: datetime
    # The last instant of the backfill, included.
    last: datetime
    # The number of runs of the backfill.
    total: int
    # The number of runs of each step.
    each: int
    # The number of this step, from 0.
    number: int = 0
    # The wall time of the last run of the step before; None in the first step.
    after: datetime | None = None

    @classmethod
    def read(cls, text: str) -> "BackfillStep":
        values = json.loads(text)
        return cls(
            operation=values["operation"],
            schedule=schedule_of(values["schedule"], values["definition"]),
            first=instants.from_milliseconds(values["first"]),
            last=instants.from_milliseconds(values["last"]),
            total=values["total"],
            each=values["each"],
            number=values["number"],
            after=None if values["after"] is None else datetime.fromisoformat(values["after"]),
        )

    @property
    def text(self) -> str:
        values = {
            "operation": self.operation,
            "definition": self.schedule.definition_id,
            "schedule": values_of(self.schedule),
            "first": instants.milliseconds(self.first),
            "last": instants.milliseconds(self.last),
            "total": self.total,
            "each": self.each,
            "number": self.number,
            "after": None if self.after is None else self.after.isoformat(timespec="minutes"),
        }
        return json.dumps(values, separators=(",", ":"))

    @property
    def steps(self) -> int:
        return max(1, -(-self.total // self.each))

    @property
    def runs(self) -> int:
        return min(self.each, self.total - self.number * self.each)

    def occurrences(self) -> list[Occurrence]:
        """The step's own. The last step takes whatever is left, should a new time-zone database have moved any."""
        # Later steps go on behind a wall time: a new time-zone database may have moved its instant.
        walk = planned(self.schedule, self.first, self.last) if self.after is None else self._rest(self.after)
        return list(walk if self.number == self.steps - 1 else islice(walk, self.each))

    def following(self, done: Sequence[Occurrence]) -> "BackfillStep | None":
        """The step after this one; None after the last."""
        if self.number == self.steps - 1:
            return None
        return replace(self, number=self.number + 1, after=done[-1].wall if done else self.after)

    def _rest(self, after: datetime) -> "takewhile[Occurrence]":
        return takewhile(lambda each: each.at <= self.last, self.schedule.after(after))


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillProgress:
    """The progress of a backfill, derived from its steps."""

    # The state of the backfill.
    state: State
    # The number of occurrences that have a run.
    done: int
    # The number of all its occurrences.
    total: int
    # The end of its last step; None before.
    finished_at: datetime | None = None
    # The reason why it does not continue; None while it does.
    reason: str | None = None


def planned(schedule: Schedule, first: datetime, last: datetime) -> "takewhile[Occurrence]":
    """The occurrences from `first` to `last`, both included."""
    return takewhile(lambda each: each.at <= last, schedule.walk(first - _MOMENT))


def step_id(operation: str, number: int, shards: ShardPlan) -> str:
    """The id of a step. All steps are in the minute of the request."""
    if number == 0:
        return operation
    unique = hashlib.sha256(f"{operation} {number}".encode()).digest()[:UNIQUE_BYTES]
    return shards.item_id(OPERATION_KIND, instants.start_of(home(operation).minute), unique)


def task_of(
    step: BackfillStep, definition: Definition, *, shards: ShardPlan, now: datetime, depth: int = 0
) -> Task:
    """The task that carries out one step. It is due now. Each run that the step writes has at least its `depth`. The
    task names the definition in `recurs`, so a worker cancels the step of a cancelled definition."""
    return task_requests.register(
        id=step_id(step.operation, step.number, shards),
        tenant=definition.tenant,
        due_at=now,
        now=now,
        template=Template(
            destination=Destination(type=TARGET_TYPE, address="runs"),
            payload=Payload(text=step.text),
            timeout_seconds=_TIMEOUT_SECONDS,
            depth=depth,
        ),
        recurs=Recurs(definition=definition.id, plan=definition.plan, at=step.first, number=0),
        why="asked for" if step.number == 0 else "follows",
    )


def progress(first: BackfillStep, steps: Sequence[Task | None]) -> BackfillProgress:
    """The progress of a backfill. `steps` are its steps in their order, None for a step that is not written yet."""
    done = sum(
        replace(first, number=number).runs
        for number, task in enumerate(steps)
        if task is not None and task.state is TaskState.SUCCEEDED
    )
    # Each step writes the row of the next one before it ends. So the last row that exists tells the state.
    last = next((task for task in reversed(steps) if task is not None), None)
    state = State.RUNNING
    if last is not None and last.state is TaskState.DEAD:
        state = State.STOPPED
    elif last is not None and last.state in (TaskState.CANCELLED, TaskState.EXPIRED):
        state = State.ABORTED
    elif last is not None and last is steps[-1] and last.state is TaskState.SUCCEEDED:
        state = State.DONE
    told = last if state in (State.STOPPED, State.ABORTED) else None
    return BackfillProgress(
        state=state,
        done=done,
        total=first.total,
        finished_at=last.finished_at if last is not None and state is not State.RUNNING else None,
        reason=None if told is None else told.history[-1].why,
    )
