"""The backlog of a late recurring task: the late run's occurrence and all later ones that are due, with the fate of
each.

`Elapsed` reads the calendar once. Its occurrences tell which rows to read; the occurrences and these rows make the
`Backlog`.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, takewhile
from typing import Final, Self

from postdate.domain.catch_up import BACKLOG_RUNS_MAX, CatchUp
from postdate.domain.cron import Occurrence
from postdate.domain.definition import Definition
from postdate.domain.schedule import Schedule
from postdate.domain.task import State, Task

MISSED_TOLD_MAX: Final = 1000
# An occurrence that is late by at most this time runs under every policy.
GRACE: Final = timedelta(minutes=1)
# Enough for 1,000 rows of missed occurrences and 1,000 runs, even if earlier workers decided about some of them.
_REMEMBERED_MAX: Final = MISSED_TOLD_MAX + 2 * BACKLOG_RUNS_MAX
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Elapsed:
    """The occurrences of a plan from a run's own occurrence until now."""

    # The instant of the decision.
    now: datetime
    # The first 3,000 occurrences, the run's own first.
    earliest: tuple[Occurrence, ...]
    # The last 3,000 of the other occurrences; empty if there are no others.
    newest: tuple[Occurrence, ...]
    # The first occurrence that is not due yet; None after the last one of the plan.
    following: Occurrence | None

    @classmethod
    def of(cls, schedule: Schedule, own: Occurrence, *, now: datetime) -> Self:
        # A year of a plan for each minute has half a million occurrences. Only both ends of the list are
        # kept.
        earliest, newest = [own], deque[Occurrence](maxlen=_REMEMBERED_MAX)
        following = None
        for each in schedule.after(own.wall):
            if each.due_at > now:
                following = each
                break
            (earliest if len(earliest) < _REMEMBERED_MAX else newest).append(each)
        return cls(now=now, earliest=tuple(earliest), newest=tuple(newest), following=following)

    @property
    def own(self) -> Occurrence:
        return self.earliest[0]

    @property
    def since(self) -> Iterator[Occurrence]:
        """The occurrences after the run's own."""
        return chain(self.earliest[1:], self.newest)

    def until(self, wall: datetime | None) -> list[Occurrence]:
        """The occurrences up to this wall time; all occurrences for None."""
        each_due = chain(self.earliest, self.newest)
        return [*each_due] if wall is None else [*takewhile(lambda each: each.wall <= wall, each_due)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """Decisions that an earlier late worker wrote before it crashed, by wall time."""

    # The wall time of the first run that was written before its instant. That run answers for all later ones. None if
    # no such run exists.
    leader: datetime | None
    # Occurrences with a run that waits, is in progress or ended.
    running: Mapping[datetime, Occurrence]
    # Occurrences that were skipped or missed.
    kept_back: frozenset[datetime]
    # True if another run began in the late run's place.
    displaced: bool

    @classmethod
    def of(cls, since: Iterable[Task], late: Task, schedule: Schedule) -> Self:
        runs = [(each, occurrence(each, schedule)) for each in since if each.recurs and each.recurs.number]
        kept_back = {it.wall for each, it in runs if each.state in (State.SKIPPED, State.MISSED)}
        return cls(
            leader=min((it.wall for each, it in runs if leads(each)), default=None),
            running={it.wall: it for _, it in runs if it.wall not in kept_back},
            kept_back=frozenset(kept_back),
            # A row that was written in the late run's place names the late run. A token shows that its run
            # began.
            displaced=any(
                each.recurs is not None and each.recurs.passed_over == late.id and each.token > 0
                for each, _ in runs
            ),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Fate:
    """The fate of one occurrence."""

    # The occurrence.
    occurrence: Occurrence
    # PENDING if the occurrence runs, or ran before; else MISSED or SKIPPED.
    state: State
    # The reason for MISSED or SKIPPED; None for PENDING.
    why: str | None = None
    # True if the occurrence counts against `max_runs`.
    counts: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """The fates of all occurrences since a late run."""

    # One entry for each occurrence in the order of wall times, the late run's own first. Only the first 1,000 missed
    # occurrences have an entry.
    entries: tuple[Fate, ...]
    # The first occurrence to come; None after the last one of the plan, or if an earlier worker wrote its run.
    following: Occurrence | None

    @classmethod
    def of(
        cls,
        elapsed: Elapsed,
        earlier: Earlier,
        definition: Definition,
        *,
        left: int | None,
        skips: str | None = None,
    ) -> Self:
        """Decides about each occurrence. `left` is the number of runs that `max_runs` still allows. If more occurrences
        are to run, the earliest ones run, and the plan ends with the last of these. `skips` is the reason if none of
        them may run."""
        policy, now = definition.catch_up, elapsed.now
        allowed = GRACE if policy is CatchUp.NONE else max(definition.catch_up_window, GRACE)
        kept_back = earlier.kept_back | ({elapsed.own.wall} if earlier.displaced else set())
        # The leader answers for the occurrences after its own, so they are left to that run.
        due = elapsed.until(earlier.leader)
        late_by = {each.wall: now - each.due_at for each in due}
        # `maxlen` drops the earlier occurrences, so the newest ones run.
        newest = deque(
            (each for each in due if late_by[each.wall] <= allowed and each.wall not in kept_back),
            maxlen=1 if policy is CatchUp.LATEST else BACKLOG_RUNS_MAX,
        )
        # Runs that an earlier worker wrote stay, whatever the policy would decide now.
        to_run = {each.wall: each for each in newest} | dict(earlier.running)
        if left is not None and len(to_run) >= left:
            # The runs that exist use up `left` first.
            others = sorted(to_run.keys() - earlier.running.keys())
            kept = {*earlier.running, *others[: max(0, left - len(earlier.running))]}
            to_run = {wall: to_run[wall] for wall in kept}
            # No occurrence is missed after the plan's last run.
            due = [each for each in due if kept and each.wall <= max(kept)]
        last = to_run[max(to_run)] if to_run else None
        reason = _Reason(policy, allowed, last, len(newest) == BACKLOG_RUNS_MAX)
        # Each entry becomes a row, so a long outage must not make an unbounded number of them.
        missed = [each for each in due if each.wall not in to_run][:MISSED_TOLD_MAX]
        entries = [
            Fate(occurrence=each, state=State.MISSED, why=reason.why(late_by[each.wall])) for each in missed
        ]
        for wall, each in to_run.items():
            counts = skips is None or wall in earlier.running
            state = State.PENDING if skips is None else State.SKIPPED
            entries.append(Fate(occurrence=each, state=state, why=skips, counts=counts))
        return cls(
            entries=tuple(sorted(entries, key=lambda entry: entry.occurrence.wall)),
            following=None if earlier.leader else elapsed.following,
        )


@dataclass(frozen=True, slots=True)
class _Reason:
    """The facts that decide the reason of each MISSED occurrence."""

    # The rule of the recurring task for late occurrences.
    policy: CatchUp
    # The catch-up window.
    allowed: timedelta
    # The latest occurrence that runs; None if none runs.
    last: Occurrence | None
    # True if as many occurrences are caught up as one worker may.
    full: bool

    def why(self, late_by: timedelta) -> str:
        """The reason of an occurrence that nobody ran, and that is late by this time."""
        if self.policy is CatchUp.NONE:
            return "missed, and catch_up is none"
        if late_by > self.allowed:
            return f"missed, and later than the catch-up window of {self.allowed // _SECOND} seconds"
        if self.full:
            return f"missed, with {BACKLOG_RUNS_MAX} or more later ones to catch up on"
        if self.last is not None:
            return f"missed, and the one planned at {self.last.at.isoformat()} runs in its place"
        return "missed"


def leads(run: Task) -> bool:
    """True if the run was written before its instant, by a worker that was not late. Such a run decides about all
    occurrences that are due after its own."""
    return run.created_at < run.planned_at


def occurrence(run: Task, schedule: Schedule) -> Occurrence:
    """The occurrence of a run as of the writing of its row. A new time-zone database does not change it. Rows of older
    releases have no wall time; then the current time-zone database decides."""
    if run.recurs is None:
        raise ValueError(f"{run.id} belongs to no plan")
    wall = run.recurs.wall or schedule.cron.shown(run.recurs.at)
    return Occurrence(wall=wall, at=run.recurs.at, due_at=run.planned_at)
