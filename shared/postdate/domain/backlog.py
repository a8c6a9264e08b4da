"""The backlog of a late recurring task: the late run's occurrence and all that were due since, computed in one walk."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, Self

from postdate.domain.catch_up import CAUGHT_UP_MAX, CatchUp
from postdate.domain.cron import Occurrence
from postdate.domain.schedule import Schedule
from postdate.domain.task import State, Task

MISSED_TOLD_MAX: Final = 1000
# An occurrence that is late by no more than this runs, whatever the policy.
GRACE: Final = timedelta(minutes=1)
# Enough to tell of the first 1,000 that are missed, whichever of these run.
_REMEMBERED_MAX: Final = MISSED_TOLD_MAX + 2 * CAUGHT_UP_MAX
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """An occurrence that is not run, and why."""

    occurrence: Occurrence
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """The rows that an earlier late worker wrote before it crashed, by their wall times.

    `leader` is the wall time of the first run that was written ahead of its time. That run answers for all after it.
    `running` are occurrences that run or ran, `kept_back` those that were skipped or missed. `displaced` is true if
    another run began in the late run's place.
    """

    leader: datetime | None
    running: Mapping[datetime, Occurrence]
    kept_back: frozenset[datetime]
    displaced: bool

    @classmethod
    def of(cls, since: Iterable[Task], late: Task, schedule: Schedule) -> Self:
        runs = [(each, occurrence(each, schedule)) for each in since if each.recurs and each.recurs.number]
        kept_back = {it.wall for each, it in runs if each.state in (State.SKIPPED, State.MISSED)}
        return cls(
            leader=min((it.wall for each, it in runs if leads(each)), default=None),
            running={it.wall: it for _, it in runs if it.wall not in kept_back},
            kept_back=frozenset(kept_back),
            displaced=any(
                each.recurs is not None and each.recurs.passed == late.id and each.token > 0
                for each, _ in runs
            ),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """`to_run` are the occurrences that run or ran, in order; `missed` are the first 1,000 of the others. `following`
    is the first occurrence to come; None after the plan's last one, and where an earlier worker wrote it."""

    to_run: tuple[Occurrence, ...]
    missed: tuple[Missed, ...]
    following: Occurrence | None

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        late: Occurrence,
        earlier: Earlier,
        *,
        now: datetime,
        left: int | None,
        policy: CatchUp,
        window: timedelta,
    ) -> Self:
        """`left` is how many runs `max_runs` still allows. If they are fewer than are to run, the earliest run, and
        what comes after the last of these is no occurrence any more."""
        allowed = GRACE if policy is CatchUp.NONE else max(window, GRACE)
        kept_back = earlier.kept_back | ({late.wall} if earlier.displaced else set())
        newest = deque[Occurrence](maxlen=1 if policy is CatchUp.LATEST else CAUGHT_UP_MAX)
        due: list[Occurrence] = []
        following = None
        for each in chain([late], schedule.after(late.wall)):
            if each is not late and (each.due_at > now or (earlier.leader and each.wall > earlier.leader)):
                following = each
                break
            if len(due) < _REMEMBERED_MAX:
                due.append(each)
            if now - each.due_at <= allowed and each.wall not in kept_back:
                newest.append(each)
        to_run = {each.wall: each for each in newest} | dict(earlier.running)
        if left is not None and len(to_run) >= left:
            others = sorted(to_run.keys() - earlier.running.keys())
            kept = {*earlier.running, *others[: max(0, left - len(earlier.running))]}
            to_run = {wall: to_run[wall] for wall in kept}
            due = [each for each in due if kept and each.wall <= max(kept)]
        runs = tuple(to_run[wall] for wall in sorted(to_run))
        reason = _Reason(policy, allowed, now, runs[-1] if runs else None, len(newest) == CAUGHT_UP_MAX)
        missed = [Missed(occurrence=each, reason=reason.of(each)) for each in due if each.wall not in to_run]
        return cls(
            to_run=runs,
            missed=tuple(missed[:MISSED_TOLD_MAX]),
            following=None if earlier.leader else following,
        )


@dataclass(frozen=True, slots=True)
class _Reason:
    policy: CatchUp
    allowed: timedelta
    now: datetime
    last: Occurrence | None
    full: bool

    def of(self, missed: Occurrence) -> str:
        if self.policy is CatchUp.NONE:
            return "missed, and catch_up is none"
        if self.now - missed.due_at > self.allowed:
            return f"missed, and later than the catch-up window of {self.allowed // _SECOND} seconds"
        if self.full:
            return f"missed, with more than {CAUGHT_UP_MAX} later ones to catch up on"
        if self.last is not None:
            return f"missed, and the one planned at {self.last.at.isoformat()} runs in its place"
        return "missed"


def leads(run: Task) -> bool:
    """True if the run answers for what is due after it: it was written ahead of its time, by a worker that was not
    late."""
    return run.created_at < run.planned_at


def occurrence(run: Task, schedule: Schedule) -> Occurrence:
    """The occurrence of a run, as it was when the run was written. A new time-zone database changes none of it. Rows of
    older code have no wall time; then it is the one that the clocks show by now."""
    if run.recurs is None:
        raise ValueError(f"{run.id} belongs to no plan")
    wall = run.recurs.wall or schedule.cron.shown(run.recurs.at)
    jitter = (run.planned_at - run.recurs.at) // _SECOND
    return Occurrence(wall=wall, at=run.recurs.at, jitter_seconds=jitter)
