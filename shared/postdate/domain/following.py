"""How one run of a recurring task leads to the next.

The runs are a chain: each, before it begins, writes the one after it, so there is always exactly one to come. A run
names its definition's plan; when that has changed, the run is void, and the change itself has begun a new chain.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.backlog import Backlog, Earlier, Elapsed, Entry, leads, occurrence
from postdate.domain.definition import Definition, Overlap, Reached
from postdate.domain.line import Line
from postdate.domain.recurrence import Runs
from postdate.domain.task import Recurs, State, Task
from postdate.domain.transitions import Deferred, Dropped, Transition

GONE: Final = "its task is gone"
CANCELLED: Final = "its task was cancelled"
CHANGED: Final = "its task was changed since"
BUSY: Final = "the run before it is not over"
ENOUGH: Final = "its task has run as often as it may"
PASSED_OVER: Final = "missed, and a later run took its place"
WAITS: Final = "waits for the run before it"
# So many runs of a task may wait for the run before them, beside those that are caught up on.
QUEUE_MAX: Final = 10
QUEUE_POLL: Final = timedelta(seconds=5)
# A run behind others that wait is woken by the one before it; this is for a call that gets lost.
QUEUE_REST: Final = timedelta(minutes=5)
# A run is written before its definition, or before the change of plan it belongs to, in a request of half a minute.
WRITTEN_WITHIN: Final = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """What has to be written before a run may begin: rows, and the change that `wakes` the next run of a queue.
    `instead` is what becomes of the run, or of its call, if it does not begin. `ends` is how far the chain has come, if
    this run is its last."""

    rows: tuple[Task, ...] = ()
    wakes: Transition | None = None
    instead: Transition | Dropped | Deferred | None = None
    ends: Reached | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What decides about a run, as it is now: the `line` before it, the occurrences that `elapsed` since its own if it
    is at its first call, and the rows of runs due `since`."""

    line: Line = field(default_factory=Line)
    elapsed: Elapsed | None = None
    since: tuple[Task, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A run in turn at one of its calls. `recurs` has the run's number as it turned out."""

    run: Task
    recurs: Recurs
    definition: Definition
    around: Around
    now: datetime

    @property
    def line(self) -> Line:
        return self.around.line


def follow(
    run: Task, definition: Definition | None, around: Around, *, runs: Runs, now: datetime
) -> Followed:
    """Decides about a run whose instant has come, before any attempt of it. A late run answers for those of its chain
    that were due since. A definition that is gone was cancelled, or ended, long ago.

    A run that was behind time when it was written answers for nothing: the worker that wrote it does. Otherwise a plan
    that has a thousand runs to catch up on would write each of them a thousand times.
    """
    recurs = run.recurs
    if recurs is None:
        return Followed()
    if instead := _void(run, recurs, definition, now):
        return Followed(instead=instead)
    if definition is None or not in_turn(run):
        return Followed()
    number = max(recurs.number, around.line.number)
    turn = Turn(run=run, recurs=replace(recurs, number=number), definition=definition, around=around, now=now)
    if run.due_at != run.planned_at:
        return _again(turn)
    most = definition.schedule.max_runs
    if most is not None and number > most:
        reached = Reached(runs=number - 1, not_over=tuple(around.line.not_over))
        is_active = definition.state is definitions.State.ACTIVE
        instead = transitions.stop(run, now=now, why=ENOUGH)
        return Followed(instead=instead, ends=reached if is_active else None)
    return _at_its_instant(turn, runs)


def in_turn(run: Task) -> bool:
    """True for a planned run that has not begun: others follow it, and others may have to be over first."""
    return run.recurs is not None and run.recurs.number > 0 and run.state is State.PENDING


def ended_first(run: Task, definition: Definition, line: Line, *, now: datetime) -> Transition | None:
    """Ends a run in this line that is not to run any more and could still begin, so that a later one may begin. The
    next search goes on from what this one did not come to."""
    recurs = run.recurs
    if recurs is None:
        return None
    change: Transition | None
    if recurs.plan == definition.plan:
        change = transitions.miss(run, now=now, why=PASSED_OVER)
    else:
        change = transitions.cancel(run, now=now, why=CHANGED)
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
    """What becomes of a run whose plan is no more, or is paused."""
    if definition is None:
        return _not_yet(run, now) or transitions.stop(run, now=now, why=GONE)
    if definition.state is definitions.State.CANCELLED:
        return transitions.stop(run, now=now, why=CANCELLED)
    if not in_turn(run):
        return None
    if definition.plan != recurs.plan:
        early = _not_yet(run, now) if definition.plan < recurs.plan else None
        return early or transitions.stop(run, now=now, why=CHANGED)
    if definition.state is definitions.State.PAUSED:
        return transitions.skip(run, now=now, why=paused_for(definition))
    return None


def _not_yet(run: Task, now: datetime) -> Deferred | None:
    """The run that begins a chain is written before its definition. A request that is made again takes it up, as long
    as its instant is to come."""
    if not in_turn(run) or now >= max(run.created_at, run.planned_at) + WRITTEN_WITHIN:
        return None
    return Deferred(why="what it belongs to may still be written", not_before=now + QUEUE_POLL)


def _again(turn: Turn) -> Followed:
    """The run was called at its instant before, and what follows it is written. Since then it has waited for the run
    before it or for its flow control."""
    if turn.definition.overlap is not Overlap.QUEUE:
        return Followed()
    if not turn.line.not_over:
        return Followed(wakes=_woken(turn.around.since, turn.now))
    return Followed(instead=_waits(turn, asks_every=QUEUE_REST if turn.line.rests else QUEUE_POLL))


def _at_its_instant(turn: Turn, runs: Runs) -> Followed:
    """A run in whose place another one has begun does not begin any more."""
    run, definition, line, now = turn.run, turn.definition, turn.line, turn.now
    most = definition.schedule.max_runs
    elapsed = turn.around.elapsed or Elapsed.of(
        definition.schedule, occurrence(run, definition.schedule), now=now
    )
    earlier = Earlier.of(turn.around.since, run, definition.schedule)
    skips = _skipped(turn)
    # A skipped run takes no place of those that `max_runs` leaves, so that does not end the plan here.
    left = None if most is None or skips else most - turn.recurs.number + 1
    backlog = Backlog.of(elapsed, earlier, definition, left=left, skips=skips)
    own = backlog.entries[0]
    begins = own.state is State.PENDING and transitions.too_late(run, now) is None
    passed = None if begins else run.id
    rows: list[Task] = []
    made, before = turn.recurs.number - 1, tuple(line.not_over)
    for each in backlog.entries:
        id = run.id
        if each is not own:
            row = runs.entered(definition, each, number=made + 1, before=before, passed=passed, now=now)
            rows.append(row)
            id = row.id
        if each.counts:
            made += 1
            if begins or each is not own:
                before = (*before, id) if skips else (id,)
    is_last = backlog.following is None or (most is not None and made >= most)
    if not is_last and backlog.following is not None:
        number = made + 1
        rows.append(
            runs.run(definition, backlog.following, number=number, before=before, passed=passed, now=now)
        )
    ends = is_last and earlier.leader is None and definition.state is definitions.State.ACTIVE
    reached = Reached(runs=made, not_over=before if passed is None else (*before, passed))
    return Followed(
        rows=tuple(rows) if leads(run) else (), instead=_instead(turn, own), ends=reached if ends else None
    )


def _skipped(turn: Turn) -> str | None:
    """Why a run is skipped for the sake of those before it. What is caught up on may wait in any number."""
    line, definition = turn.line, turn.definition
    if not line.not_over or definition.overlap is Overlap.ALLOW:
        return None
    if definition.overlap is Overlap.SKIP:
        return BUSY
    is_full = leads(turn.run) and line.waiting >= QUEUE_MAX
    return f"{QUEUE_MAX} runs before it wait already" if is_full else None


def _instead(turn: Turn, own: Entry) -> Transition | Deferred | None:
    if own.state is State.MISSED:
        return _linked(transitions.miss(turn.run, now=turn.now, why=own.why or ""), turn)
    if own.state is State.SKIPPED:
        return _linked(transitions.skip(turn.run, now=turn.now, why=own.why or ""), turn)
    if turn.line.not_over and turn.definition.overlap is Overlap.QUEUE:
        return _waits(turn, asks_every=QUEUE_POLL)
    return None


def _waits(turn: Turn, *, asks_every: timedelta) -> Transition | Deferred:
    """The first of a queue asks by its message alone, and writes its row now and then, so that no audit takes it for
    lost. Each of the others rests until the one before it begins."""
    run, now = turn.run, turn.now
    if why_late := transitions.too_late(run, now):
        return transitions.expire(run, now=now, why=why_late)
    until = min(now + asks_every, run.ends_at)
    wait = _linked(transitions.wait(run, now=now, until=until, why=WAITS), turn)
    asked = run.due_at != run.planned_at and wait.after.recurs == run.recurs
    if asked and asks_every == QUEUE_POLL and now < run.due_at + QUEUE_REST:
        return Deferred(why=WAITS, not_before=until)
    return wait


def _woken(since: Iterable[Task], now: datetime) -> Transition | None:
    """The next run of the queue asks from now on; None if it does already, or if none waits."""
    waiting = next((each for each in since if in_turn(each)), None)
    if waiting is None or waiting.due_at <= now + QUEUE_POLL:
        return None
    return transitions.wait(waiting, now=now, until=now + QUEUE_POLL, why="is the next to run")


def _linked(change: Transition, turn: Turn) -> Transition:
    """With its number and its links as they turned out: a later run that looks past it finds what is on at once."""
    links = replace(turn.recurs, before=(*turn.line.not_over, *turn.line.left), passed=None)
    return replace(change, after=replace(change.after, recurs=links))
