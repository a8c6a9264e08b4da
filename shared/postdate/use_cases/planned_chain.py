"""The chain of runs of a recurring task, as the API begins and reads it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from postdate.domain import task_requests
from postdate.domain.catch_up import BACKLOG_RUNS_MAX
from postdate.domain.definition import Definition, Overlap, Reached
from postdate.domain.definition import State as DefinitionState
from postdate.domain.errors import Unavailable
from postdate.domain.following import CANCELLED, CHANGED, in_turn
from postdate.domain.item import Phase
from postdate.domain.line import LOOKED_AT_MAX
from postdate.domain.preview import Planned, preview
from postdate.domain.recurrence import Runs
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.runtime.observability import logger
from postdate.stores.lines import read_lines
from postdate.stores.tasks import Tasks, Written

_LOOKED_AT: Final = 10
# Runs of these last minutes are looked for by their ids, which no index delays.
_NEAR: Final = timedelta(minutes=10)
# More than ever wait at once.
_QUEUE_MAX: Final = BACKLOG_RUNS_MAX + 100
_PAGE: Final = 100
_PAGES_MAX: Final = 10
# Two days of a plan for each minute: longer than the attempts of a run last by default.
_PAGES_OF_ON_MAX: Final = 30
# A search before a run reads no more rows.
_ON_MAX: Final = LOOKED_AT_MAX - 1
# Runs in these states do not count among those that have begun.
_NOT_BEGUN: Final = frozenset({State.PENDING, State.SKIPPED, State.MISSED, State.CANCELLED})


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedChain:
    tasks: Tasks
    runs: Runs

    def first(self, definition: Definition, *, now: datetime) -> Task | None:
        """The run that would begin the chain; None if no run is left."""
        return self.runs.first(definition, now=now)

    def begin(self, definition: Definition, *, now: datetime) -> Task | None:
        """Writes the run that begins the chain; None if no run is left.

        It goes before its definition's row. A run whose definition is missing, or has another plan, is void when its
        instant comes: what a crash in between leaves behind begins nothing. The other way round it would leave a
        definition without a run, and nothing would ever look at that one again.
        """
        run = self.runs.first(definition, now=now)
        if run is None:
            return None
        (written,) = self.tasks.add([run])
        if written not in (Written.DONE, Written.CONFLICT):
            raise Unavailable
        # No other request has this plan: a row that is there is this request's own, and its answer was lost.
        if written is Written.CONFLICT and self.tasks.get(run.id) != run:
            raise Unavailable
        return run

    def drop(self, first: Task, *, now: datetime) -> None:
        """Ends the run of a request that was not the first with its key. Otherwise the run would end at its instant."""
        with suppress(Unavailable):
            if change := task_requests.cancel(first, now=now, why=CHANGED):
                self.tasks.commit([change])

    def reached(self, definition: Definition, *, now: datetime) -> tuple[Reached, Task | None]:
        """Returns the state of the chain, and the run to come, if there is one. A change of the plan ends that run in
        the same transaction, so that no other run begins before the change is made."""
        leader = self._leader(definition, now=now)
        if leader is None or leader.recurs is None:
            return Reached(runs=definition.runs_before, not_over=definition.before), None
        _, lines = read_lines(self.tasks, [leader], counted={leader.id}, most=_QUEUE_MAX)
        line = lines[leader.id]
        if line.unread:
            raise Unavailable("newer code alone can read a run of this task")
        began = leader.token > 0
        on = [leader.id] if began else [*line.not_over, *(each.id for each in line.to_end), *line.left]
        if definition.overlap is Overlap.ALLOW:
            on = self._on(definition, on)
        # Runs that wait do not count: the change ends them, and one that begins all the same is found by the next run.
        # Those that an earlier change of state ended do not count either.
        runs = line.number if began else line.runs_before
        runs = max(definition.runs_before, runs)
        return Reached(runs=runs, not_over=tuple(on)), leader if in_turn(leader) else None

    def _on(self, definition: Definition, known: Sequence[str]) -> list[str]:
        """Returns the `known` runs and the other planned runs in progress, the newest first. An old run may still retry
        behind many that are over."""
        on = [*known]
        for page in islice(self._pages(definition), _PAGES_OF_ON_MAX):
            found = self.tasks.get_many(page)
            if found.unreadable:
                raise Unavailable("newer code alone can read a run of this task")
            on += [id for id in page if id in found and _is_on(found[id]) and id not in on]
            if len(on) >= _ON_MAX:
                break
        return on[: max(_ON_MAX, len(known))]

    def _leader(self, definition: Definition, *, now: datetime) -> Task | None:
        """The newest planned run: the run to come, the newest run of a late chain, or the last run of an ended one.

        The ids of the next occurrence and of those of the last minutes follow from the plan, so these rows are read
        first. If none exists, the listing is searched, which lags by a moment."""
        planned = definition.schedule.walk(now - _NEAR)
        near = []
        for each in planned:
            near.append(self.runs.begins(definition, each, now=now).id)
            if each.due_at > now:
                break
        return self._newest_of(definition, near) or next(
            (
                found
                for page in islice(self._pages(definition), _PAGES_MAX)
                if (found := self._newest_of(definition, page))
            ),
            None,
        )

    def _pages(self, definition: Definition) -> Iterator[list[str]]:
        before = ""
        while page := self.tasks.runs_back(definition.tenant, definition.id, before=before, limit=_PAGE):
            yield page
            before = page[-1]

    def _newest_of(self, definition: Definition, ids: Sequence[str]) -> Task | None:
        """The latest planned run of the current plan among these ids; None if there is none."""
        found = self.tasks.get_many(ids)
        if found.unreadable:
            raise Unavailable("newer code alone can read a run of this task")
        runs = [
            (run.recurs.at, run)
            for run in found.values()
            if run.recurs and run.recurs.plan == definition.plan and run.recurs.number > 0
        ]
        return max(runs, key=lambda pair: pair[0])[1] if runs else None

    def stop(self, definition: Definition, *, now: datetime) -> None:
        """Ends the newest waiting runs of a cancelled task. Older ones end at their instants. The newest ones end now,
        because a client that reads them after the cancel must not see them wait."""
        self._end(definition, lambda run: task_requests.cancel(run, now=now, why=CANCELLED))

    def end_queue(self, definition: Definition, change: Callable[[Task], Transition | None]) -> None:
        """Ends the newest runs that wait for their predecessors. Otherwise the next run of the task, or their own
        calls, would end them."""
        if definition.overlap is Overlap.QUEUE:
            self._end(
                definition, lambda run: change(run) if in_turn(run) and _is_of(run, definition) else None
            )

    def _end(self, definition: Definition, change: Callable[[Task], Transition | None]) -> None:
        with suppress(Unavailable):
            waiting = [run for run in self.newest(definition) if run.state.waits]
            changes = [each for run in waiting if (each := change(run))]
            if changes:
                self.tasks.commit(changes)

    def newest(self, definition: Definition) -> Sequence[Task]:
        """Returns the newest runs, the newest first. The listing may be a moment behind."""
        ids = self.tasks.runs_back(definition.tenant, definition.id, before="", limit=_LOOKED_AT)
        found = self.tasks.get_many(ids)
        return [found[id] for id in ids if id in found]

    def newest_if_readable(self, definition: Definition) -> Sequence[Task]:
        """Returns the newest runs for the answer to a change that is made, and none while the listing cannot be read:
        an error would tell the client that nothing was changed."""
        try:
            return self.newest(definition)
        except Unavailable as error:
            logger.warning(
                "a change is answered without the runs of its task",
                extra={"action": "runs_not_listed", "task_id": definition.id, "reason": str(error)},
            )
            return ()


def begun(definition: Definition, runs: Iterable[Task]) -> int:
    """The number of runs that have begun, as far as these runs show: a run's number counts the runs before it."""
    numbers = (
        run.recurs.number - (run.state in _NOT_BEGUN)
        for run in runs
        if run.recurs is not None and run.recurs.plan == definition.plan and run.recurs.number > 0
    )
    return max(definition.runs_before, *numbers, 0)


def next_run_at(definition: Definition, *, runs: Iterable[Task], now: datetime) -> datetime | None:
    """The instant of the next run, from the plan alone."""
    plan = definition.schedule
    if definition.state is not DefinitionState.ACTIVE:
        return None
    if plan.max_runs is not None and begun(definition, runs) >= plan.max_runs:
        return None
    after = max(definition.changed_at, now - timedelta(seconds=plan.jitter_seconds))
    return next((each.due_at for each in plan.walk(after) if each.due_at > now), None)


def preview_of(
    definition: Definition, *, runs: Sequence[Task], first: datetime | None, count: int, now: datetime
) -> list[Planned]:
    """The next runs of the task from `first` on, or from now on. A task that is over has none, and a paused task those
    that it would have without the pause."""
    if definition.state in (DefinitionState.CANCELLED, DefinitionState.FINISHED):
        return []
    if first is None:
        # An occurrence may have run already although more jitter would move it behind now.
        first = next_run_at(definition, runs=runs, now=now) or now
    return preview(definition.schedule, first=first, count=count, runs=begun(definition, runs))


def _is_on(run: Task) -> bool:
    in_a_chain = run.recurs is not None and run.recurs.number > 0
    return in_a_chain and run.token > 0 and run.phase is not Phase.RESTS


def _is_of(run: Task, definition: Definition) -> bool:
    return run.recurs is not None and run.recurs.plan == definition.plan
