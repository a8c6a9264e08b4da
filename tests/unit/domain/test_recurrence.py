"""The chain of runs: exactly one to come, and a row for every instant that was planned."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postdate.domain import definition as definitions
from postdate.domain import transitions, verdicts
from postdate.domain.catch_up import CatchUp
from postdate.domain.cron import Cron
from postdate.domain.definition import Definition, Overlap, Reached, is_definition
from postdate.domain.due import Due
from postdate.domain.following import Followed
from postdate.domain.line import Line
from postdate.domain.recurrence import Runs, Since
from postdate.domain.schedule import Schedule
from postdate.domain.slots import UNIQUE_BYTES, Slot, item_id
from postdate.domain.task import KIND, Payload, State, Task, Template
from postdate.domain.transitions import Transition
from postdate.domain.verdicts import Deferred
from tests import following
from tests.unit.doubles import HOOK, LEASE, MINUTE, PLAN, SECOND

NOW = datetime(2026, 11, 18, 10, 5, 30, tzinfo=UTC)
RUNS = Runs(shards=PLAN)
ID = item_id(KIND, Slot(minute=0, shard=3), b"d" * UNIQUE_BYTES)


def a_definition(cron: str = "*/5 * * * *", **fields) -> Definition:
    plan = {
        name: fields.pop(name)
        for name in ("start_at", "end_at", "max_runs", "jitter_seconds")
        if name in fields
    }
    return Definition(
        id=ID,
        tenant="demo",
        state=definitions.State.ACTIVE,
        version=1,
        plan=1,
        schedule=Schedule.checked(cron=Cron.parse(cron), definition_id=ID, **plan),
        template=Template(destination=HOOK, payload=Payload(text="{}")),
        created_at=NOW,
        changed_at=NOW,
        **fields,
    )


def first(definition: Definition, *, now: datetime = NOW) -> Task:
    run = RUNS.first(definition, now=now)
    assert run is not None
    return run


def follow(run: Task, definition: Definition | None, *known: Task, since=(), now: datetime) -> Followed:
    return following.follow(RUNS, run, definition, *known, since=since, now=now)


def running(run: Task, *, now: datetime) -> Task:
    claimed = verdicts.claim(run, Due.of(run), now=now, lease=LEASE, holder="w", repeated=False, why="sweep")
    assert isinstance(claimed, transitions.Transition)
    return claimed.after


def test_a_definition_is_told_from_a_task_by_its_id() -> None:
    assert is_definition(ID)
    assert not is_definition(first(a_definition()).id)
    assert not is_definition("task_x")


def test_the_first_run_is_the_next_occurrence_and_its_id_follows_from_it() -> None:
    run = first(a_definition())
    assert run.due_at == run.planned_at == datetime(2026, 11, 18, 10, 10, tzinfo=UTC)
    assert run.home.holds(run.due_at)
    assert run == first(a_definition())
    assert run.id != first(replace(a_definition(), plan=2)).id
    assert (run.task_id, run.recurs.number) == (ID, 1)


def test_a_run_writes_the_next_before_it_begins() -> None:
    definition = a_definition()
    run = first(definition)
    followed = follow(run, definition, now=run.due_at)
    (following,) = followed.rows
    assert (following.due_at - run.due_at, following.recurs.number) == (5 * MINUTE, 2)
    assert following.recurs.before == (run.id,)
    assert (followed.instead, followed.ends) == (None, None)
    assert follow(run, definition, now=run.due_at) == followed


def test_the_last_run_ends_the_chain() -> None:
    for definition in (a_definition(max_runs=1), a_definition(end_at=NOW + 5 * MINUTE)):
        run = first(definition)
        followed = follow(run, definition, now=run.due_at)
        reached = Reached(runs=1, not_over=(run.id,))
        assert (followed.rows, followed.ends, followed.instead) == ((), reached, None)
    assert RUNS.first(a_definition(end_at=NOW + MINUTE), now=NOW) is None
    assert RUNS.first(replace(a_definition(max_runs=3), runs_before=3), now=NOW) is None


def test_a_run_of_an_older_plan_is_void_and_begins_no_chain() -> None:
    definition = a_definition()
    run = first(definition)
    reasons = {
        "its task was changed since": definitions.change(definition, now=NOW, reached=Reached(runs=0)),
        "its task is gone": None,
        "its task was cancelled": definitions.cancel(definition, now=NOW),
    }
    for reason, now_is in reasons.items():
        followed = follow(run, now_is, now=run.due_at + MINUTE)
        assert followed.rows == ()
        ended = followed.instead.after
        assert (ended.state, ended.history[-1].why) == (State.CANCELLED, reason)


def test_a_paused_definition_skips_its_run_with_the_reason() -> None:
    definition = a_definition()
    run = first(definition)
    paused = definitions.pause(definition, now=NOW, reached=Reached(runs=0), reason="release")
    followed = follow(run, paused, now=run.due_at)
    assert followed.rows == ()
    assert (followed.instead.after.state, followed.instead.after.history[-1].why) == (
        State.SKIPPED,
        "paused: release",
    )
    resumed = definitions.resume(paused, now=NOW + MINUTE, reached=Reached(runs=0))
    assert resumed.plan == 2
    assert first(resumed).id != run.id


def test_a_run_is_skipped_while_the_one_before_is_not_over_and_the_next_waits_for_the_same() -> None:
    definition = a_definition()
    run = first(definition)
    (second,) = follow(run, definition, now=run.due_at).rows
    busy = running(run, now=run.due_at)
    followed = follow(second, definition, busy, now=second.due_at)
    assert followed.instead.after.state is State.SKIPPED
    (third,) = followed.rows
    assert third.recurs.before == (run.id,)
    assert third.recurs.number == 2
    over = transitions.succeed(busy, now=third.due_at - SECOND, why="http 200").after
    assert follow(third, definition, over, now=third.due_at).instead is None


def test_a_run_that_began_after_all_counts_and_is_the_one_before() -> None:
    """One worker found it too late to begin, and wrote what follows; another one had begun it in the same moment."""
    definition = a_definition(max_runs=2, catch_up=CatchUp.NONE)
    run = first(definition)
    too_late = follow(run, definition, now=run.due_at + 2 * MINUTE)
    (second,) = too_late.rows
    assert too_late.instead.after.state is State.MISSED
    assert (second.recurs.number, second.recurs.before, second.recurs.passed_over) == (1, (), run.id)
    missed, began = too_late.instead.after, running(run, now=run.due_at + MINUTE)
    over = transitions.succeed(began, now=run.due_at + 3 * MINUTE, why="http 200").after

    ends = [follow(second, definition, run_, now=second.due_at).ends for run_ in (missed, over)]
    assert ends == [None, Reached(runs=2, not_over=(second.id,))]
    assert follow(second, definition, began, now=second.due_at).instead.after.state is State.SKIPPED
    once = replace(definition, schedule=replace(definition.schedule, max_runs=1))
    stopped = follow(second, once, over, now=second.due_at)
    assert (stopped.rows, stopped.instead.after.state) == ((), State.CANCELLED)
    assert stopped.instead.after.history[-1].why == "its task has run as often as it may"


def test_a_run_waits_for_what_it_belongs_to_as_long_as_that_may_still_be_written() -> None:
    """A request writes the run first, and may stand still before it writes the definition, or the change of it."""
    definition, written = a_definition(), NOW + 4 * MINUTE + 20 * SECOND
    run = RUNS.first(definition, now=written)
    of_a_change = RUNS.first(replace(definition, plan=2, runs_before=3), now=written)
    for now, ends in ((run.due_at, False), (run.due_at + MINUTE, True)):
        for early, known in ((run, None), (of_a_change, definition)):
            instead = follow(early, known, now=now).instead
            assert isinstance(instead, Transition if ends else Deferred)
    never = follow(run, replace(definition, plan=2), now=run.due_at)
    assert never.instead.after.state is State.CANCELLED


def test_a_chain_that_an_earlier_late_worker_caught_up_continues_by_itself() -> None:
    """A worker dies over its answer after it wrote all that follows; another one comes later."""
    definition = a_definition()
    run = first(definition)
    caught_up, leader = follow(run, definition, now=run.due_at + 6 * MINUTE).rows
    now = run.due_at + 21 * MINUTE
    since = [caught_up, running(leader, now=leader.due_at)]
    assert {each.id for each in since} < set(RUNS.since(run, definition, Line(), now=now).ids)

    again = follow(run, definition, since=since, now=now)

    assert again.instead.after.state is State.MISSED
    assert {row.id for row in again.rows} == {caught_up.id, leader.id}
    assert not again.ends
    assert [row.id for row in follow(run, definition, now=now).rows][-1] != leader.id


@pytest.mark.parametrize("is_over", [True, False])
def test_a_run_that_began_in_the_late_runs_place_counts(is_over: bool) -> None:
    """A worker dies over its answer before it wrote what leads on, and what it let run has begun."""
    definition = a_definition()
    run = first(definition)
    caught_up, _ = follow(run, definition, now=run.due_at + 6 * MINUTE).rows
    begun = running(caught_up, now=run.due_at + 6 * MINUTE)
    over = transitions.succeed(begun, now=run.due_at + 7 * MINUTE, why="http 200").after
    now, since = run.due_at + 11 * MINUTE, [over if is_over else begun]

    again = follow(run, definition, since=since, now=now)
    in_its_place, following = again.rows[-2:]
    assert (in_its_place.recurs.number, in_its_place.recurs.before) == (2, (caught_up.id,))
    assert (following.recurs.number, following.recurs.before) == (3, (in_its_place.id,))

    once = replace(definition, schedule=replace(definition.schedule, max_runs=1))
    enough = follow(run, once, since=since, now=now)
    assert [row.id for row in enough.rows] == [caught_up.id]
    assert (enough.instead.after.state, enough.ends.runs) == (State.MISSED, 1)


def test_a_run_does_not_begin_beside_the_one_that_has_begun_in_its_place() -> None:
    """A worker skips it, because the one before it is not over, and dies over that; the next one comes later."""
    definition = a_definition(max_runs=2, catch_up=CatchUp.ALL)
    before = first(definition)
    (run,) = follow(before, definition, now=before.due_at).rows
    busy = running(before, now=before.due_at)
    (in_its_place,) = follow(run, definition, busy, now=run.due_at).rows
    assert (in_its_place.recurs.number, in_its_place.recurs.passed_over) == (2, run.id)
    over = transitions.succeed(busy, now=in_its_place.due_at - SECOND, why="http 200").after
    begun = running(in_its_place, now=in_its_place.due_at)

    for most in (2, 9):
        more = replace(definition, schedule=replace(definition.schedule, max_runs=most))
        late = follow(run, more, over, since=[begun], now=in_its_place.due_at + SECOND).instead.after
        assert late.state is State.MISSED
        assert (
            late.history[-1].why
            == f"missed, and the one planned at {begun.planned_at.isoformat()} runs in its place"
        )
    waiting = follow(run, definition, over, since=[in_its_place], now=in_its_place.due_at + SECOND)
    assert waiting.instead is None or waiting.instead.after.state is not State.SKIPPED


def test_a_run_yields_to_none_that_was_kept_back_for_it() -> None:
    """The one after it was skipped because this one was not over: then neither would have run."""
    definition = a_definition()
    run = first(definition)
    (leader,) = follow(run, definition, now=run.due_at).rows
    skipped = transitions.skip(leader, now=leader.due_at, why="the run before it is not over").after
    late = follow(run, definition, since=[skipped], now=leader.due_at + MINUTE)
    assert late.instead is None
    assert not late.ends


def test_only_who_comes_late_to_a_plan_that_goes_on_looks_for_those_since() -> None:
    definition = a_definition()
    run = first(definition)
    now = run.due_at + 16 * MINUTE
    assert len(RUNS.since(run, definition, Line(), now=now).ids) == 3
    waits = replace(run, due_at=now)
    paused = replace(definition, state=definitions.State.PAUSED)
    assert (
        RUNS.since(waits, definition, Line(), now=now) == RUNS.since(run, paused, Line(), now=now) == Since()
    )
    assert RUNS.since(run, definition, Line(), now=run.due_at).ids == ()


def test_runs_that_two_workers_caught_up_at_two_times_count_together() -> None:
    """The first one dies over its answer, and the second one did not see what the first one let run: for him it was
    missed."""
    definition = a_definition(max_runs=2)
    run = first(definition)
    caught_up, second = follow(run, definition, now=run.due_at + 6 * MINUTE).rows
    later = follow(run, definition, now=run.due_at + 11 * MINUTE).rows
    assert [row.id for row in later[:2]] == [caught_up.id, second.id]
    third = later[2]
    assert (third.recurs.number, third.recurs.before) == (2, (second.id,))
    over = transitions.succeed(running(second, now=second.due_at), now=third.due_at, why="http 200").after

    stopped = follow(third, definition, over, run, now=third.due_at)

    assert (stopped.rows, stopped.instead.after.state) == ((), State.CANCELLED)
    assert stopped.instead.after.history[-1].why == "its task has run as often as it may"


def test_a_run_waits_for_the_one_before_and_for_one_that_began_after_all() -> None:
    """A late worker started the latest run in its place, and the next run waits for that one."""
    definition = a_definition()
    run = first(definition)
    latest, following = follow(run, definition, now=run.due_at + 6 * MINUTE).rows
    assert (following.recurs.before, following.recurs.passed_over) == ((latest.id,), run.id)
    over = transitions.succeed(running(run, now=run.due_at), now=latest.due_at, why="http 200").after
    busy = running(latest, now=run.due_at + 7 * MINUTE)
    followed = follow(following, definition, busy, over, now=following.due_at)
    assert followed.instead.after.state is State.SKIPPED
    assert (followed.rows[0].recurs.before, followed.rows[0].recurs.number) == ((latest.id,), 3)
    begun, missed = running(run, now=run.due_at), transitions.miss(latest, now=NOW, why="missed").after
    followed = follow(following, definition, missed, begun, now=following.due_at)
    assert followed.instead.after.state is State.SKIPPED
    assert followed.rows[0].recurs.before == (run.id,)


def test_occurrences_to_catch_up_beside_an_unfinished_run_are_skipped_at_once() -> None:
    """Or else all of it would begin together when that run ends."""
    definition = a_definition(catch_up=CatchUp.ALL)
    run = first(definition)
    (second,) = follow(run, definition, now=run.due_at).rows
    busy = running(run, now=run.due_at)
    followed = follow(second, definition, busy, now=second.due_at + 12 * MINUTE)
    *behind, following = followed.rows
    assert [row.state for row in behind] == [State.SKIPPED] * 2
    assert {row.history[0].why for row in behind} == {followed.instead.after.history[-1].why}
    assert (following.state, following.recurs.number, following.recurs.before) == (
        State.PENDING,
        2,
        (run.id,),
    )


def test_a_skipped_run_does_not_count_against_max_runs() -> None:
    definition = a_definition(catch_up=CatchUp.ALL, max_runs=2)
    run = first(definition)
    (second,) = follow(run, definition, now=run.due_at).rows
    followed = follow(second, definition, running(run, now=run.due_at), now=second.due_at + 7 * MINUTE)
    assert [(row.state, (row.planned_at - second.due_at) // MINUTE) for row in followed.rows] == [
        (State.SKIPPED, 5),
        (State.PENDING, 10),
    ]


def test_a_run_may_overlap_if_its_definition_says_so() -> None:
    definition = a_definition(overlap=Overlap.ALLOW)
    run = first(definition)
    (second,) = follow(run, definition, now=run.due_at).rows
    followed = follow(second, definition, running(run, now=run.due_at), now=second.due_at)
    assert followed.instead is None
    assert followed.rows[0].recurs.before == (second.id,)


@pytest.mark.parametrize(
    ("policy", "states"),
    [
        (CatchUp.LATEST, [State.MISSED] * 3 + [State.PENDING]),
        (CatchUp.ALL, [State.PENDING] * 4),
        (CatchUp.NONE, [State.MISSED] * 4),
    ],
)
def test_passed_occurrences_run_or_are_missed_by_the_policy(policy: CatchUp, states: list[State]) -> None:
    definition = a_definition(catch_up=policy)
    run = first(definition)
    now = run.due_at + 17 * MINUTE
    followed = follow(run, definition, now=now)
    *behind, following = sorted(followed.rows, key=lambda row: row.planned_at)
    found = [followed.instead.after.state if followed.instead else State.PENDING]
    assert found + [row.state for row in behind] == states
    assert [row.planned_at for row in (run, *behind)] == [
        run.due_at + place * 5 * MINUTE for place in range(4)
    ]
    assert (following.planned_at, following.state) == (run.due_at + 20 * MINUTE, State.PENDING)


def test_a_run_that_was_behind_time_when_it_was_written_writes_none() -> None:
    """The run's writer has written every run due since, and the next one."""
    definition = a_definition(catch_up=CatchUp.ALL)
    run = first(definition)
    now = run.due_at + 17 * MINUTE
    *behind, following = follow(run, definition, now=now).rows
    for late in behind:
        assert follow(late, definition, now=now + MINUTE) == Followed()
        changed = definitions.change(definition, now=now, reached=Reached(runs=0))
        assert follow(late, changed, now=now).instead.after.state is State.CANCELLED
    assert len(follow(following, definition, now=following.due_at).rows) == 1


def test_a_run_asked_for_by_hand_leads_to_none() -> None:
    definition = a_definition()
    run = RUNS.out_of_turn(definition, name="trigger-1", due_at=NOW, now=NOW, why="triggered")
    assert follow(run, definition, now=NOW).rows == ()
    assert run.id == RUNS.out_of_turn(definition, name="trigger-1", due_at=NOW, now=NOW, why="triggered").id


def became(run: Task, followed: Followed, *, now: datetime) -> Task:
    if isinstance(followed.instead, Deferred):
        return run
    return running(run, now=now) if followed.instead is None else followed.instead.after


def goes_on(run: Task) -> bool:
    """True if the run will write the next one."""
    return run.state is State.PENDING and run.created_at < run.planned_at == run.due_at


@settings(max_examples=150, deadline=None)
@given(
    cron=st.sampled_from(["* * * * *", "*/5 * * * *", "7 * * * *", "*/20 9-11 * * *"]),
    policy=st.sampled_from(CatchUp),
    overlap=st.sampled_from(Overlap),
    jitter=st.sampled_from([0, 20]),
    delays=st.lists(st.integers(0, 2000), min_size=1, max_size=12),
    busy=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_every_planned_instant_has_one_row_however_late_the_worker_comes(
    cron: str, policy: CatchUp, overlap: Overlap, jitter: int, delays: list[int], busy: list[bool]
) -> None:
    """Several workers on the chain, each seconds or half an hour after the instant."""
    definition = a_definition(cron, catch_up=policy, overlap=overlap, jitter_seconds=jitter)
    rows = {(run := first(definition)).id: run}
    now = NOW
    for delay, is_busy in zip(delays, busy, strict=False):
        waiting = sorted(
            (row for row in rows.values() if row.state is State.PENDING), key=lambda row: row.due_at
        )
        run = waiting[0]
        now = max(now, run.due_at) + timedelta(seconds=delay)
        before = running(first(definition), now=now) if is_busy and run.recurs.before else None
        known = [before] if before else []
        followed = follow(run, definition, *known, now=now)
        assert follow(run, definition, *known, now=now) == followed
        for row in followed.rows:
            rows.setdefault(row.id, row)
        rows[run.id] = became(run, followed, now=now)
        (following,) = [row for row in rows.values() if goes_on(row)]
        assert following.planned_at > now or not goes_on(run)
    planned = sorted(row.planned_at for row in rows.values())
    walked = definition.schedule.walk(NOW)
    assert planned == [next(walked).due_at for _ in planned]
