"""How one run of a definition leads to the next.

The runs are a chain: each, before it begins, writes the one after it, so there is always exactly one to come. A run
names its definition's plan; when that has changed, the run is void, and the change itself has begun a new chain. The
ids of runs follow from definition, plan and wall time: writing one twice is harmless, and so is whoever does it.
"""

import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice, takewhile
from typing import Final

from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.catch_up import Missed, missed
from postdate.domain.caught_up import CaughtUp, answers
from postdate.domain.cron import Occurrence
from postdate.domain.definition import Definition, Overlap
from postdate.domain.item import Phase
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import RUN_KIND, HistoryLine, Recurs, State, Task
from postdate.domain.transitions import Deferred, Dropped, Transition

MISSED_TOLD_MAX: Final = 1000
GONE: Final = "its task is gone"
CANCELLED: Final = "its task was cancelled"
CHANGED: Final = "its task was changed since"
BUSY: Final = "the run before it is not over"
ENOUGH: Final = "its task has run as often as it may"
QUEUE_POLL: Final = timedelta(seconds=5)
# A run is written before its definition, or before the change of plan it belongs to, in a request of half a minute.
WRITTEN_WITHIN: Final = timedelta(minutes=1)
_STOPPED: Final = frozenset({definitions.State.PAUSED, definitions.State.CANCELLED})
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """What has to be written before a run may begin, what becomes of it, or of its call, instead of beginning, and
    whether it was the last of its chain."""

    rows: tuple[Task, ...] = ()
    instead: Transition | Dropped | Deferred | None = None
    ends: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """Makes the rows of runs. `shards` says where they live."""

    shards: ShardPlan

    def first(self, definition: Definition, *, now: datetime) -> Task | None:
        """The run that begins a chain; None when the plan is at its end."""
        occurrence = definition.schedule.next(now, runs=definition.runs_before)
        if occurrence is None:
            return None
        return self.run(definition, occurrence, number=definition.runs_before + 1, previous=None, now=now)

    def run(
        self,
        definition: Definition,
        occurrence: Occurrence,
        *,
        number: int,
        previous: str | None,
        passed: str | None = None,
        now: datetime,
    ) -> Task:
        name = f"{definition.id} {definition.plan} {occurrence.wall.isoformat(timespec='minutes')}"
        recurs = Recurs(
            definition=definition.id,
            plan=definition.plan,
            at=occurrence.at,
            number=number,
            previous=previous,
            passed=passed,
        )
        return self._row(definition, recurs, name, due_at=occurrence.due_at, now=now, why="planned")

    def behind(self, run: Task, definition: Definition | None, *, now: datetime) -> list[str]:
        """The ids of the runs that were due since this one, which may have been caught up on before; the newest of
        them, if there are more than anybody looks at."""
        recurs = run.recurs
        if definition is None or recurs is None or definition.plan != recurs.plan or not answers(run):
            return []
        if run.due_at != run.planned_at or definition.state in _STOPPED:
            return []
        since = takewhile(lambda each: each.due_at <= now, definition.schedule.walk(recurs.at))
        made = partial(self.run, definition, number=0, previous=None, now=now)
        return [made(each).id for each in deque(since, maxlen=MISSED_TOLD_MAX)]

    def out_of_turn(
        self, definition: Definition, *, name: str, due_at: datetime, now: datetime, why: str
    ) -> Task:
        """Asked for by hand: it follows nothing, and nothing follows it. Equal names make one run."""
        recurs = Recurs(definition=definition.id, plan=definition.plan, at=due_at, number=0)
        return self._row(definition, recurs, f"{definition.id} {name}", due_at=due_at, now=now, why=why)

    def follow(
        self,
        run: Task,
        definition: Definition | None,
        previous: Task | None,
        passed: Task | None = None,
        since: Iterable[Task] = (),
        *,
        now: datetime,
    ) -> Followed:
        """Decides about a run whose instant has come, before any attempt of it; one that is behind time answers for
        those of its chain that were due since. `definition`, `previous` and `passed` are as they are now, and so are
        those due `since` that are there; a definition that is gone was cancelled, or ended, long ago.

        A run that was behind time when it was written answers for nothing: whoever wrote it does, or else a plan that
        has a thousand runs to catch up on would write each of them a thousand times.
        """
        recurs = run.recurs
        if recurs is None:
            return Followed()
        if definition is None:
            return Followed(instead=_not_yet(run, recurs, now) or transitions.stop(run, now=now, why=GONE))
        if definition.state is definitions.State.CANCELLED:
            return Followed(instead=transitions.stop(run, now=now, why=CANCELLED))
        if recurs.number == 0 or run.state is not State.PENDING:
            return Followed()
        if definition.plan != recurs.plan:
            early = _not_yet(run, recurs, now) if definition.plan < recurs.plan else None
            return Followed(instead=early or transitions.stop(run, now=now, why=CHANGED))
        if definition.state is definitions.State.PAUSED:
            why = "paused" if definition.reason is None else f"paused: {definition.reason}"
            return Followed(instead=transitions.skip(run, now=now, why=why))
        recurs, busy = _as_it_turned_out(recurs, previous, passed)
        if run.due_at != run.planned_at:
            # It was at its instant before, and waits for the run before it or for its flow control.
            queues = busy and definition.overlap is Overlap.QUEUE
            return Followed(instead=self._queued(run, now=now) if queues else None)
        if definition.schedule.max_runs is not None and recurs.number > definition.schedule.max_runs:
            ends = definition.state is definitions.State.ACTIVE
            return Followed(instead=transitions.stop(run, now=now, why=ENOUGH), ends=ends)
        return self._followed(run, recurs, definition, CaughtUp.of(since, run), busy=busy, now=now)

    def _followed(
        self,
        run: Task,
        recurs: Recurs,
        definition: Definition,
        before: CaughtUp,
        *,
        busy: bool,
        now: datetime,
    ) -> Followed:
        """A run in whose place another one has begun does not begin any more."""
        skips = busy and definition.overlap is Overlap.SKIP
        # What is skipped takes no place of those that `max_runs` leaves, so that does not end the plan here.
        plan = replace(definition.schedule, max_runs=None) if skips else definition.schedule
        to_run, notes = missed(
            plan,
            last=recurs.at - _MOMENT,
            until=now if before.leader is None else before.leader.planned_at,
            now=now,
            running=before.running,
            kept_back=before.kept_back | ({recurs.at} if before.passed else set()),
            runs=recurs.number - 1,
            policy=definition.catch_up,
            window=definition.catch_up_window,
        )
        told = list(islice(notes, MISSED_TOLD_MAX))
        instead = self._instead(run, recurs, told, busy, definition, now)
        passed = run.id if skips or (instead is not None and instead.after.state is State.MISSED) else None
        rows = self._notes(definition, told, recurs, now=now)
        planned = partial(self.run, definition, passed=passed, now=now)
        made, previous = recurs.number - 1, recurs.previous
        for occurrence in to_run:
            id = run.id
            if occurrence.at != recurs.at:
                row = planned(occurrence, number=made + 1, previous=previous)
                rows.append(_ended(row, State.SKIPPED, BUSY, now) if skips else row)
                id = row.id
            if not skips or occurrence.at in before.running:
                made, previous = made + 1, id
        following = None if before.leader else self._next(definition, recurs, made=made, now=now)
        if following is not None:
            rows.append(planned(following, number=made + 1, previous=previous))
        ends = following is None and before.leader is None and definition.state is definitions.State.ACTIVE
        return Followed(rows=tuple(rows) if answers(run) else (), instead=instead, ends=ends)

    def _next(self, definition: Definition, recurs: Recurs, *, made: int, now: datetime) -> Occurrence | None:
        if definition.schedule.max_runs is not None and made >= definition.schedule.max_runs:
            return None
        later = definition.schedule.walk(recurs.at)
        return next((each for each in later if each.due_at > now), None)

    def _instead(
        self,
        run: Task,
        recurs: Recurs,
        told: Iterable[Missed],
        busy: bool,
        definition: Definition,
        now: datetime,
    ) -> Transition | None:
        note = next((each for each in told if each.occurrence.at == recurs.at), None)
        if note is not None:
            return transitions.miss(run, now=now, why=note.reason)
        if not busy or definition.overlap is Overlap.ALLOW:
            return None
        if definition.overlap is Overlap.QUEUE:
            return self._queued(run, now=now)
        return transitions.skip(run, now=now, why=BUSY)

    def _queued(self, run: Task, *, now: datetime) -> Transition:
        if why_late := transitions.too_late(run, now):
            return transitions.expire(run, now=now, why=why_late)
        return transitions.wait(run, now=now, until=now + QUEUE_POLL, why="waits for the run before it")

    def _notes(
        self, definition: Definition, told: Iterable[Missed], recurs: Recurs, *, now: datetime
    ) -> list[Task]:
        """A row for each run that was missed."""
        rows = []
        for note in told:
            if note.occurrence.at != recurs.at:
                row = self.run(definition, note.occurrence, number=0, previous=None, now=now)
                rows.append(_ended(row, State.MISSED, note.reason, now))
        return rows

    def _row(
        self, definition: Definition, recurs: Recurs, name: str, *, due_at: datetime, now: datetime, why: str
    ) -> Task:
        template = definition.template
        unique = hashlib.sha256(name.encode()).digest()[:UNIQUE_BYTES]
        expires = None if template.expires_after is None else due_at + template.expires_after
        return transitions.register(
            id=item_id(RUN_KIND, self.shards.slot(due_at, unique), unique),
            tenant=definition.tenant,
            due_at=due_at,
            now=now,
            destination=template.destination,
            payload=template.payload,
            retry=template.retry,
            timeout_seconds=template.timeout_seconds,
            name=definition.name,
            tags=definition.tags,
            ack=template.ack,
            expires_at=expires,
            recurs=recurs,
            flow=template.flow,
            why=why,
        )


def _not_yet(run: Task, recurs: Recurs, now: datetime) -> Deferred | None:
    """Only what begins a chain comes before its definition. A request that is made again takes it up, as long as its
    instant is to come."""
    begins = recurs.previous is None and recurs.number > 0 and run.state is State.PENDING
    if not begins or now >= max(run.created_at, run.planned_at) + WRITTEN_WITHIN:
        return None
    return Deferred(why="what it belongs to may still be written", not_before=now + QUEUE_POLL)


def _as_it_turned_out(recurs: Recurs, previous: Task | None, passed: Task | None) -> tuple[Recurs, bool]:
    """Which run it is, and whether one before it is not over. One that was passed over and began after all counts, and
    has to be over as well. A run is always the one after its previous: two workers who came late, one after the other,
    may have numbered what follows in two ways."""
    before, number = [previous] if previous else [], recurs.number
    if passed is not None and passed.token:
        before.append(passed)
        number += 1
    if previous is not None and previous.recurs is not None:
        number = max(number, previous.recurs.number + 1)
    recurs = replace(recurs, number=number)
    not_over = [each.id for each in before if each.phase is not Phase.RESTS]
    return (replace(recurs, previous=not_over[0]), True) if not_over else (recurs, False)


def _ended(row: Task, state: State, why: str, now: datetime) -> Task:
    """At its end from the start."""
    line = HistoryLine(version=1, at=now, to=state, why=why, attempt=0)
    return replace(row, state=state, finished_at=now, history=(line,))
