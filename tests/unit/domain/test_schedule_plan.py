"""Plans: their bounds, their jitter, what is caught up on, and what a preview tells."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.backlog import Backlog, Earlier, Elapsed
from postdate.domain.catch_up import BACKLOG_RUNS_MAX, CatchUp
from postdate.domain.cron import Cron, Occurrence
from postdate.domain.errors import ValidationFailed
from postdate.domain.preview import preview
from postdate.domain.schedule import Schedule
from postdate.domain.task import State
from tests.unit.run_tasks.plans import a_definition

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC)
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
NONE_EARLIER = Earlier(leader=None, running={}, kept_back=frozenset(), displaced=False)
CRONS = st.sampled_from(["* * * * *", "*/5 * * * *", "0 * * * *", "30,35 2 * * *", "59 1 * * *"])
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca"])


def schedule(text: str = "0 * * * *", zone: str = "UTC", **bounds) -> Schedule:
    return Schedule.checked(cron=Cron.parse(text, zone), definition_id="def_a", **bounds)


def hours(occurrences) -> list[int]:
    return [each.at.hour for each in occurrences]


def jitter(occurrence: Occurrence) -> int:
    """In seconds."""
    return (occurrence.due_at - occurrence.at) // timedelta(seconds=1)


def test_a_plan_runs_from_its_start_to_its_end_both_included():
    plan = schedule(start_at=NOON, end_at=NOON + 3 * HOUR)
    assert hours(plan.walk(MIDNIGHT)) == [12, 13, 14, 15]
    assert plan.next(NOON + 3 * HOUR, runs=0) is None
    assert hours(schedule(start_at=NOON + MINUTE, end_at=NOON + 3 * HOUR - MINUTE).walk(MIDNIGHT)) == [13, 14]


def test_a_plan_from_the_beginning_of_time_begins_in_1970():
    always = datetime.min.replace(tzinfo=UTC)
    plan = schedule("0 0 1 1 *", start_at=always)
    assert plan.next(always, runs=0).wall.year == 1971
    assert preview(plan, first=always, count=1)[0].local == "1971-01-01T00:00:00+00:00"


def test_a_plan_ends_after_its_last_run():
    plan = schedule(max_runs=2)
    assert plan.next(NOON, runs=1).at == NOON + HOUR
    assert plan.next(NOON, runs=2) is None


@pytest.mark.parametrize(
    ("bounds", "field"),
    [
        ({"start_at": NOON, "end_at": NOON - HOUR}, "end_at"),
        ({"max_runs": 0}, "max_runs"),
        ({"jitter_seconds": -1}, "jitter_seconds"),
        ({"jitter_seconds": 3601}, "jitter_seconds"),
        ({"jitter_seconds": 3600}, "jitter_seconds"),
    ],
)
def test_bounds_that_make_no_plan_are_refused(bounds, field):
    with pytest.raises(ValidationFailed) as refusal:
        schedule(**bounds)
    assert [name for name, _ in refusal.value.fields] == [field]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("* * * * *", 60), ("0,59 * * * *", 60), ("0 9,17 * * *", 3601), ("59,1 23,0 * * *", 120)],
)
def test_jitter_is_less_than_what_lies_between_two_runs(text, seconds):
    assert schedule(text, jitter_seconds=seconds - 1).jitter_seconds == seconds - 1
    with pytest.raises(ValidationFailed, match="jitter_seconds"):
        schedule(text, jitter_seconds=seconds)


@given(text=CRONS, zone=ZONES, days=st.integers(0, 400), most=st.integers(0, 59))
def test_jitter_is_never_early_never_beyond_its_bound_and_never_past_the_next_run(text, zone, days, most):
    plan = schedule(text, zone, jitter_seconds=most)
    for one, other in pairwise(islice(plan.walk(MIDNIGHT + timedelta(days=days)), 40)):
        assert timedelta(0) <= one.due_at - one.at <= timedelta(seconds=most)
        assert one.due_at < other.at


def test_where_a_gap_brings_two_runs_together_jitter_gives_way():
    cron = Cron.parse("5 2,3 * * *", "Europe/Berlin")
    plans = [Schedule.checked(cron=cron, definition_id=f"def_{n}", jitter_seconds=3599) for n in range(200)]
    gap, usual = (
        [jitter(plan.next(datetime(2026, 3, day, tzinfo=UTC), runs=0)) for plan in plans] for day in (29, 30)
    )
    assert 270 < max(gap) < 300
    assert 3500 < max(usual) < 3600


def test_jitter_belongs_to_the_occurrence_and_the_plan():
    plan = schedule(jitter_seconds=1800)
    later = [*islice(plan.walk(MIDNIGHT), 30)]
    assert [*islice(plan.walk(later[9].at), 20)] == later[10:]
    assert len({jitter(each) for each in later}) > 20
    other = Schedule.checked(cron=plan.cron, definition_id="def_b", jitter_seconds=1800)
    assert [each.due_at for each in islice(other.walk(MIDNIGHT), 30)] != [each.due_at for each in later]
    assert jitter(later[0]) == 29


def backlog(
    plan: Schedule, first: Occurrence, policy: CatchUp, *, window: timedelta, now: datetime, left: int | None
) -> Backlog:
    definition = replace(a_definition(), catch_up=policy, catch_up_window=window)
    return Backlog.of(Elapsed.of(plan, first, now=now), NONE_EARLIER, definition, left=left)


def running(found: Backlog) -> list[Occurrence]:
    return [each.occurrence for each in found.entries if each.state is State.PENDING]


def run_and_missed(
    plan: Schedule, policy: CatchUp, *, window=6 * HOUR, last=MIDNIGHT, now=NOON + 30 * MINUTE, runs=0
):
    first = next(plan.walk(last))
    if first.due_at > now:
        return [], []
    left = None if plan.max_runs is None else plan.max_runs - runs
    found = backlog(plan, first, policy, window=window, now=now, left=left)
    return hours(running(found)), [(each.occurrence.at.hour, each.why) for each in found.entries if each.why]


def test_the_latest_runs_and_stands_for_the_others():
    run, noted = run_and_missed(schedule(), CatchUp.LATEST)
    assert run == [12]
    assert [hour for hour, _ in noted] == [*range(1, 12)]
    assert "the one planned at 2026-11-18T12:00:00+00:00 runs in its place" in noted[-1][1]
    assert "later than the catch-up window of 21600 seconds" in noted[0][1]


def test_all_of_the_window_run():
    run, noted = run_and_missed(schedule(), CatchUp.ALL)
    assert run == [7, 8, 9, 10, 11, 12]
    assert [hour for hour, _ in noted] == [1, 2, 3, 4, 5, 6]


def test_none_runs_of_what_was_missed():
    run, noted = run_and_missed(schedule(), CatchUp.NONE)
    assert run == []
    assert noted == [(hour, "missed, and catch_up is none") for hour in range(1, 13)]


@pytest.mark.parametrize("policy", CatchUp)
def test_an_occurrence_that_is_late_by_a_minute_at_most_is_not_missed(policy):
    run, _ = run_and_missed(schedule(), policy, now=NOON + MINUTE, window=timedelta(0))
    assert run == [12]


@pytest.mark.parametrize("policy", CatchUp)
def test_an_occurrence_that_is_not_due_yet_is_not_missed(policy):
    plan = schedule(jitter_seconds=1800)
    noon = plan.next(NOON - MINUTE, runs=0)
    assert jitter(noon) > 0
    early = run_and_missed(plan, policy, now=noon.due_at - timedelta(seconds=1), last=NOON - MINUTE)
    assert early == ([], [])
    assert run_and_missed(plan, policy, now=noon.due_at, last=NOON - MINUTE)[0] == [12]


@pytest.mark.parametrize("policy", [CatchUp.LATEST, CatchUp.ALL])
def test_the_window_begins_when_an_occurrence_was_due(policy):
    plan = schedule(jitter_seconds=1800)
    late = NOON + 30 * MINUTE - plan.next(NOON - MINUTE, runs=0).due_at
    assert MINUTE < late < 30 * MINUTE
    assert run_and_missed(plan, policy, last=NOON - MINUTE, window=late)[0] == [12]
    assert run_and_missed(plan, policy, last=NOON - MINUTE, window=late - timedelta(seconds=1))[0] == []


@given(
    policy=st.sampled_from(CatchUp),
    text=CRONS,
    seconds=st.integers(0, 60_000),
    window=st.integers(0, 30_000),
    most=st.integers(0, 59),
)
def test_every_occurrence_that_passed_is_run_or_noted(policy, text, seconds, window, most):
    plan = schedule(text, "Europe/Berlin", jitter_seconds=most)
    last = datetime(2026, 10, 24, tzinfo=UTC)
    now = last + timedelta(seconds=seconds)
    first, *since = islice(plan.walk(last), 4000)
    now = max(now, first.due_at)
    found = backlog(plan, first, policy, window=timedelta(seconds=window), now=now, left=None)
    assert [each.occurrence for each in found.entries] == [
        each for each in (first, *since) if each.due_at <= now
    ]
    assert found.following == next((each for each in since if each.due_at > now), None)
    assert all(now - each.due_at <= max(timedelta(seconds=window), MINUTE) for each in running(found))


def test_no_more_than_a_thousand_are_caught_up_on():
    run, noted = run_and_missed(
        schedule("* * * * *"), CatchUp.ALL, last=MIDNIGHT - 6 * HOUR, window=24 * HOUR
    )
    assert len(run) == BACKLOG_RUNS_MAX
    assert len(noted) == 18 * 60 + 30 - BACKLOG_RUNS_MAX
    assert {reason for _, reason in noted} == {"missed, with 1000 or more later ones to catch up on"}


def test_catching_up_ends_with_the_plans_last_run():
    assert run_and_missed(schedule(max_runs=5), CatchUp.ALL, runs=3) == (
        [7, 8],
        [(hour, "missed, and later than the catch-up window of 21600 seconds") for hour in range(1, 7)],
    )
    assert run_and_missed(schedule(max_runs=5), CatchUp.ALL, runs=5) == ([], [])
    assert run_and_missed(schedule(max_runs=5), CatchUp.LATEST, runs=4)[0] == [12]


@pytest.mark.parametrize(
    ("text", "zone", "first", "local", "note"),
    [
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00Z",
            "2026-03-29T03:00:00+02:00",
            "02:30 does not exist on this day: runs at 03:00",
        ),
        (
            "*/10 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00Z",
            "2026-03-29T03:00:00+02:00",
            "02:00 to 02:50 do not exist on this day: runs once, at 03:00",
        ),
        (
            "0 2,3 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00Z",
            "2026-03-29T03:00:00+02:00",
            "02:00 does not exist on this day: runs once, at 03:00",
        ),
        ("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T03:00:00+02:00", None),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00Z",
            "2026-10-25T02:30:00+02:00",
            "02:30 comes twice on this day: runs the first time",
        ),
        (
            "0 9 30 * *",
            "Pacific/Apia",
            "2011-12-29T12:00Z",
            "2011-12-31T00:00:00+14:00",
            "2011-12-30 09:00 does not exist: runs at 2011-12-31 00:00",
        ),
        ("0 0 * * *", "Asia/Kathmandu", "2026-11-18T00:00Z", "2026-11-19T00:00:00+05:45", None),
    ],
)
def test_a_preview_says_where_a_change_of_clocks_moved_a_run(text, zone, first, local, note):
    (planned,) = preview(schedule(text, zone), first=datetime.fromisoformat(first), count=1)
    assert (planned.local, planned.note) == (local, note)
    assert planned.at == datetime.fromisoformat(local)


def test_a_preview_says_where_jitter_moved_a_run():
    planned = preview(schedule(jitter_seconds=1800, max_runs=3), first=MIDNIGHT + HOUR, runs=1)
    assert len(planned) == 2
    assert planned[0].at == MIDNIGHT + HOUR + timedelta(seconds=29)
    assert planned[0].local == "2026-11-18T01:00:29+00:00"
    assert planned[0].note == "29 s of jitter"


def test_a_preview_begins_with_a_run_that_jitter_moves_behind_its_first_instant():
    planned = preview(schedule(jitter_seconds=1800), first=MIDNIGHT + HOUR + timedelta(seconds=29))
    assert planned[0].at == MIDNIGHT + HOUR + timedelta(seconds=29)
    later = preview(schedule(jitter_seconds=1800), first=MIDNIGHT + HOUR + timedelta(seconds=30))
    assert later[0] == planned[1]


@pytest.mark.parametrize("count", [0, 101])
def test_a_preview_has_one_to_a_hundred_lines(count):
    with pytest.raises(ValidationFailed, match="count"):
        preview(schedule(), first=NOON, count=count)
    assert len(preview(schedule(), first=NOON, count=100)) == 100
