"""The step from one run of a recurring task to the next.

The runs form a chain. Each run writes the next run before it begins, so there is always exactly one run to come. A run
names the plan of its definition. If the plan has changed, the run does not begin, and the change began a new chain.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import definition as definitions
from postdate.domain import task_requests, transitions, verdicts
from postdate.domain.backlog import Backlog, Earlier, Elapsed, Fate, leads, occurrence
from postdate.domain.definition import Definition, Overlap, Reached
from postdate.domain.line import Line
from postdate.domain.recurrence import Runs
from postdate.domain.recurs import Recurs
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.domain.verdicts import Deferred, Dropped

# The reasons that histories of runs show.
GONE: Final = "its task is gone"
CANCELLED: Final = "its task was cancelled"
CHANGED: Final = "its task was changed since"
BUSY: Final = "the run before it is not over"
ENOUGH: Final = "its task has run as often as it may"
PASSED_OVER: Final = "missed, and a later run took its place"
WAITS: Final = "waits for the run before it"
# Runs of a task that may wait for their predecessors. Runs of a backlog do not count.
QUEUE_MAX: Final = 10
QUEUE_POLL: Final = timedelta(seconds=5)
# A run behind waiting runs is woken by its predecessor. This poll replaces a wake-up that was lost.
QUEUE_POLL_SLOW: Final = timedelta(minutes=5)
# A request writes a run before the definition or its change, and a request takes at most half a minute.
WRITTEN_WITHIN: Final = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """The decision about a run at its call. Rows and changes must be written before the run begins."""

    # Rows of later runs to write; empty if an earlier call wrote them.
    rows: tuple[Task, ...] = ()
    # The change that wakes the next run of a queue; None if no run waits.
    wakes: Transition | None = None
    # The fate of the run, or of its call, if the run does not begin; None if it begins.
    instead: Transition | Dropped | Deferred | None = None
    # The progress of the chain if this run is its last; None otherwise.
    ends: Reached | None = None
    # The number that the search found for the run; None if it is the number in the row.
    number: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """The rows and occurrences that were read to decide about a run."""

    # The runs before it.
    line: Line = field(default_factory=Line)
    # The occurrences since its own; None unless the run is at its first call.
    elapsed: Elapsed | None = None
    # The rows of later runs that are due; empty if there are none.
    since: tuple[Task, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A planned run at one of its calls, and all that decides about it."""

    # The row of the run.
    run: Task
    # Its place in the recurring task, with the number that the search found.
    recurs: Recurs
    # The recurring task.
    definition: Definition
    # The rows and occurrences around the run.
    around: Around
    # The instant of the decision.
    now: datetime

    @property
    def line(self) -> Line:
        return self.around.line


def follow(
    run: Task, definition: Definition | None, around: Around, *, runs: Runs, now: datetime
) -> Followed:
    """Decides about a run whose instant has come, before its first attempt. A late run also decides about the later
    occurrences of its chain that are due. A missing definition was cancelled, or ended, long ago.

    A run that was late when it was written decides about itself only. The worker that wrote it decided about the rest.
    Otherwise a plan with a backlog of a thousand runs would write each of them a thousand times.
    """
    recurs = run.recurs
    if recurs is None:
        return Followed()
    if instead := _void(run, recurs, definition, now):
        return Followed(instead=instead)
    if definition is None or not in_turn(run):
        return Followed()
    # The search may have found runs of an earlier chain that began after this row was written.
    number = max(recurs.number, around.line.number)
    found = number if number > recurs.number else None
    turn = Turn(run=run, recurs=replace(recurs, number=number), definition=definition, around=around, now=now)
    # A run that was postponed had its first call: its successor is written.
    if run.due_at != run.planned_at:
        return replace(_at_a_later_call(turn), number=found)
    most = definition.schedule.max_runs
    # A run of an earlier chain has used up the last number meanwhile.
    if most is not None and number > most:
        reached = Reached(runs=number - 1, not_over=tuple(around.line.not_over))
        is_active = definition.state is definitions.State.ACTIVE
        instead = verdicts.stop(run, now=now, why=ENOUGH)
        return Followed(instead=instead, ends=reached if is_active else None)
    return replace(_at_its_instant(turn, runs), number=found)


def with_number(claim: Transition, number: int | None) -> Transition:
    """The change, with `number` if it begins a run. The number in the row is too small if runs of an earlier chain
    began after the row was written. A later search ends at this run and counts on from its number. None keeps the row's
    number."""
    recurs = claim.after.recurs
    if number is None or recurs is None or claim.after.state is not State.RUNNING:
        return claim
    return replace(claim, after=replace(claim.after, recurs=replace(recurs, number=number)))


def in_turn(run: Task) -> bool:
    """True for a planned run that has not begun. Other runs follow such a run, and it may have to wait for others."""
    return run.recurs is not None and run.recurs.number > 0 and run.state is State.PENDING


def ended_first(run: Task, definition: Definition, line: Line, *, now: datetime) -> Transition | None:
    """Ends a run of this line that could still begin and must not, so that a later run may begin. The ended run's
    links get the runs that the search did not reach."""
    recurs = run.recurs
    if recurs is None:
        return None
    change: Transition | None
    if recurs.plan == definition.plan:
        change = transitions.miss(run, now=now, why=PASSED_OVER)
    else:
        change = task_requests.cancel(run, now=now, why=CHANGED)
    if change is None or not line.left:
        return change
    ended = {each.id for each in line.to_end}
    before = (*line.left, *(id for id in recurs.before if id not in ended))
    return replace(change, after=replace(change.after, recurs=replace(recurs, before=before)))


def paused_for(definition: Definition) -> str:
    return "paused" if definition.reason is None else f"paused: {definition.reason}"


def _void(
    run: Task, recurs: Recurs, definition: Definition | None, now: datetime
) -> Transition | Dropped | Deferred | None:
    """The fate of a run whose plan is gone, changed or paused; None for a run of the current plan."""
    if definition is None:
        return _not_yet(run, now) or verdicts.stop(run, now=now, why=GONE)
    if definition.state is definitions.State.CANCELLED:
        return verdicts.stop(run, now=now, why=CANCELLED)
    if not in_turn(run):
        return None
    if definition.plan != recurs.plan:
        early = _not_yet(run, now) if definition.plan < recurs.plan else None
        return early or verdicts.stop(run, now=now, why=CHANGED)
    if definition.state is definitions.State.PAUSED:
        return transitions.skip(run, now=now, why=paused_for(definition))
    return None


def _not_yet(run: Task, now: datetime) -> Deferred | None:
    """Defers a run whose definition may not be written yet: a request writes the first run of a chain before the
    definition. None after that time."""
    if not in_turn(run) or now >= max(run.created_at, run.planned_at) + WRITTEN_WITHIN:
        return None
    return Deferred(why="what it belongs to may still be written", not_before=now + QUEUE_POLL)


def _at_a_later_call(turn: Turn) -> Followed:
    """Decides about a run that was postponed before. Its first call wrote the next run, so no rows follow. With
    `overlap: queue` the run waits while an earlier run is not over; when it begins, `wakes` lets the next waiting run
    ask at once. With any other overlap the first call decided, so the run begins."""
    if turn.definition.overlap is not Overlap.QUEUE:
        return Followed()
    if not turn.line.not_over:
        return Followed(wakes=_woken(turn.around.since, turn.now))
    return Followed(
        instead=_waits(turn, asks_every=QUEUE_POLL_SLOW if turn.line.is_queued_behind else QUEUE_POLL)
    )


def _at_its_instant(turn: Turn, runs: Runs) -> Followed:
    """Decides about a run at its first call. If another run began in its place, the run does not begin."""
    run, definition, line, now = turn.run, turn.definition, turn.line, turn.now
    most, skips = definition.schedule.max_runs, _skipped(turn)
    elapsed = turn.around.elapsed or Elapsed.of(
        definition.schedule, occurrence(run, definition.schedule), now=now
    )
    earlier, writes = Earlier.of(turn.around.since, run, definition.schedule), leads(run)
    # Skipped runs do not count against `max_runs`, so the limit does not end the plan here.
    left = None if most is None or skips else most - turn.recurs.number + 1
    backlog = Backlog.of(elapsed, earlier, definition, left=left, skips=skips)
    own = backlog.entries[0]
    begins = own.state is State.PENDING and run.too_late(now) is None
    # A slower worker may still begin this run. Rows that are written in its place name it, so that they wait for it.
    passed_over = None if begins else run.id
    rows: list[Task] = []
    made, before = turn.recurs.number - 1, tuple(line.not_over)
    for each in backlog.entries:
        id = run.id
        if each is not own:
            row = runs.entered(
                definition, each, number=made + 1, before=before, passed_over=passed_over, now=now
            )
            rows.append(row)
            id = row.id
        if each.counts:
            made += 1
            # A skipped run ends no wait: the run after it waits for the earlier runs too.
            if begins or each is not own:
                before = (*before, id) if skips else (id,)
    is_last = backlog.following is None or (most is not None and made >= most)
    if not is_last and backlog.following is not None:
        number = made + 1
        rows.append(
            runs.run(
                definition, backlog.following, number=number, before=before, passed_over=passed_over, now=now
            )
        )
    # A leader writes what follows, so the plan does not end here if there is one.
    ends = is_last and earlier.leader is None and definition.state is definitions.State.ACTIVE
    reached = Reached(runs=made, not_over=before if passed_over is None else (*before, passed_over))
    return Followed(
        rows=tuple(rows) if writes else (), instead=_instead(turn, own), ends=reached if ends else None
    )


def _skipped(turn: Turn) -> str | None:
    """The reason to skip a run because of the runs before it; None to run it. Any number of backlog runs may wait."""
    line, definition = turn.line, turn.definition
    if not line.not_over or definition.overlap is Overlap.ALLOW:
        return None
    if definition.overlap is Overlap.SKIP:
        return BUSY
    is_full = leads(turn.run) and line.waiting >= QUEUE_MAX
    return f"{QUEUE_MAX} runs before it wait already" if is_full else None


def _instead(turn: Turn, own: Fate) -> Transition | Deferred | None:
    if own.state is State.MISSED:
        return _linked(transitions.miss(turn.run, now=turn.now, why=own.why or ""), turn)
    if own.state is State.SKIPPED:
        return _linked(transitions.skip(turn.run, now=turn.now, why=own.why or ""), turn)
    if turn.line.not_over and turn.definition.overlap is Overlap.QUEUE:
        return _waits(turn, asks_every=QUEUE_POLL)
    return None


def _waits(turn: Turn, *, asks_every: timedelta) -> Transition | Deferred:
    """Lets the run wait. The first run of a queue polls with its message, and writes its row now and then so that no
    audit counts it as lost. Each other run waits until its predecessor begins."""
    run, now = turn.run, turn.now
    if why_late := run.too_late(now):
        return transitions.expire(run, now=now, why=why_late)
    until = min(now + asks_every, run.ends_at)
    wait = _linked(transitions.wait(run, now=now, until=until, why=WAITS), turn)
    # The row tells of the wait already, with the right links. Until it is QUEUE_POLL_SLOW old a message is enough.
    asked = run.due_at != run.planned_at and wait.after.recurs == run.recurs
    if asked and asks_every == QUEUE_POLL and now < run.due_at + QUEUE_POLL_SLOW:
        return Deferred(why=WAITS, not_before=until)
    return wait


def _woken(since: Iterable[Task], now: datetime) -> Transition | None:
    """Lets the next run of the queue poll from now on; None if it polls already, or if no run waits."""
    waiting = next((each for each in since if in_turn(each)), None)
    if waiting is None or waiting.due_at <= now + QUEUE_POLL:
        return None
    return transitions.wait(waiting, now=now, until=now + QUEUE_POLL, why="is the next to run")


def _linked(change: Transition, turn: Turn) -> Transition:
    """The change, with the number and the links that the search found. Later searches become shorter."""
    links = replace(turn.recurs, before=(*turn.line.not_over, *turn.line.left), passed_over=None)
    return replace(change, after=replace(change.after, recurs=links))
