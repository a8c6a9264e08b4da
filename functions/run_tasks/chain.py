"""What comes before a run of a recurring task begins: the run after it is written, and called. And before each attempt
of any run: its definition is looked at, for no attempt begins of a task that was cancelled.

Rows first, then their calls, and only then may the run begin. A crash in between brings the run's own message back; it
finds the run as it was and does the same again: the ids follow from the plan, so nothing is written twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from postdate.domain import definition as definitions
from postdate.domain.definition import Definition
from postdate.domain.due import Due, Via, pack
from postdate.domain.errors import Unavailable
from postdate.domain.item import Phase
from postdate.domain.recurrence import Followed, Runs
from postdate.domain.sweeping import Horizon
from postdate.domain.task import State, Task
from postdate.domain.transitions import Deferred, Dropped, Transition
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Tasks, Written


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """What a run may do. Unless all that follows it is DONE, it may not begin: UNAVAILABLE, not now; CONFLICT, it is
    not any more what it was; REFUSED, somebody has to look. `instead` is what becomes of it, or of its call, when it is
    not to begin at all; with it, or with its claim, the definition `ends`. `kept_back` are those that were written as
    missed or skipped."""

    written: Written
    instead: Transition | Dropped | Deferred | None = None
    ends: Definition | None = None
    kept_back: tuple[State, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    definitions: Definitions
    tasks: Tasks
    queue: Queue
    runs: Runs
    horizon: Horizon
    clock: Clock

    def foresee(self, tasks: Iterable[Task]) -> None:
        """The first question of a process takes hundreds of milliseconds, so one is asked while there is still time
        until the instant. What counts is the answer at the instant."""
        with suppress(Unavailable):
            if asked := {task.task_id for task in tasks if _leads(task)}:
                self.definitions.get_many(asked)

    def follow(self, runs: Sequence[Task]) -> list[Link]:
        """One answer a run, in their order. Raises Unavailable when nothing can be read.

        A run is read again beside the one before it: a worker that stood still since it had it may find it begun and
        ended, and must not write what would have followed. So are those due since: a worker that died may have caught
        up on some of them. A run is REFUSED while newer code alone can read its definition or one of these rows: what
        cannot be read is not gone."""
        found = self.definitions.get_many({run.task_id for run in runs})
        leading = [run for run in runs if _leads(run)]
        now = self.clock.now()
        behind = {run.id: self.runs.behind(run, found.get(run.task_id), now=now) for run in leading}
        wanted = {id for run in leading for id in (run.id, *_before(run), *behind[run.id])} - {""}
        read = self.tasks.get_many(wanted)
        changed = {run.id for run in leading if not _is_still(run, read.get(run.id))}
        unread = {run.id for run in runs if run.task_id in found.unreadable}
        unread |= {
            run.id for run in leading if not read.unreadable.isdisjoint((*_before(run), *behind[run.id]))
        }
        followed = {
            run.id: self._followed(run, found.get(run.task_id), read, behind.get(run.id, ()), now)
            for run in runs
            if run.id not in unread and run.id not in changed
        }
        written = self._write(followed)
        return [
            _link(followed[run.id], written, found.get(run.task_id))
            if run.id in followed
            else Link(written=Written.CONFLICT if run.id in changed else Written.REFUSED)
            for run in runs
        ]

    def _followed(
        self,
        run: Task,
        definition: Definition | None,
        read: Mapping[str, Task],
        behind: Sequence[str],
        now: datetime,
    ) -> Followed:
        previous, passed = (read.get(id) for id in _before(run))
        since = [read[id] for id in behind if id in read]
        return self.runs.follow(run, definition, previous, passed, since, now=now)

    def finish(self, definition: Definition) -> None:
        """If it is lost, or the definition was changed since, nothing is lost with it."""
        self.definitions.change(definition, definitions.finish(definition, now=self.clock.now()))

    def _write(self, followed: Mapping[str, Followed]) -> dict[str, Written]:
        """What became of each row, by its id; one that cannot be called now is as good as not written. Writing may take
        so long that the row's minute is open by the end of it."""
        rows = {row.id: row for each in followed.values() for row in each.rows}
        if not rows:
            return {}
        written = dict(zip(rows, self.tasks.add(list(rows.values())), strict=True))
        now = self.clock.now()
        called = [
            row
            for row in rows.values()
            if self.horizon.reaches(row.due_at, now) and _wants_call(row, written[row.id])
        ]
        try:
            if called:
                self.queue.send(pack(((row.tenant, Due.of(row)) for row in called), Via.REGISTRATION))
        except Unavailable:
            written |= {row.id: Written.UNAVAILABLE for row in called}
        return written


def asks(claim: Transition) -> bool:
    """Whether a definition has a say in it."""
    run = claim.before
    return run.recurs is not None and (claim.after.state is State.RUNNING or _leads(run))


def _leads(run: Task) -> bool:
    """Whether others follow this run, which may not begin before they are written."""
    return run.recurs is not None and run.recurs.number > 0 and run.state is State.PENDING


def _before(run: Task) -> tuple[str, str]:
    """The run before it, and the one that was passed over for it."""
    recurs = run.recurs
    return (recurs.previous or "", recurs.passed or "") if recurs else ("", "")


def _is_still(run: Task, now: Task | None) -> bool:
    return now is not None and now.version == run.version


def _wants_call(row: Task, written: Written) -> bool:
    """Who wrote it before may have died before calling it, and may have decided otherwise about it."""
    return written is Written.CONFLICT or (written is Written.DONE and row.phase is Phase.WAITS)


def _link(followed: Followed, written: Mapping[str, Written], definition: Definition | None) -> Link:
    results = {written[row.id] for row in followed.rows}
    for wrong in (Written.REFUSED, Written.UNAVAILABLE):
        if wrong in results:
            return Link(written=wrong)
    return Link(
        written=Written.DONE,
        instead=followed.instead,
        ends=definition if followed.ends else None,
        kept_back=tuple(
            row.state for row in followed.rows if row.phase is Phase.RESTS and written[row.id] is Written.DONE
        ),
    )
