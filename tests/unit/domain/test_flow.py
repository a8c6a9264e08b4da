from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.flow import PLACE_KEPT, FlowControl, Room, enter, places, stayed, still_counts
from tests.unit.doubles import SECOND, START

MILLISECOND = timedelta(milliseconds=1)
RATES = st.integers(1, 5000), st.integers(1, 3600)


@given(*RATES, st.integers(1, 400))
def test_no_period_holds_more_places_than_its_rate(rate, period, count):
    flow = FlowControl(key="k", rate=rate, period_seconds=period)
    found = places(START, [flow.interval] * count)
    assert found[0] == START
    assert found == sorted(found)
    for first, last in zip(found, found[rate:], strict=False):
        assert last - first >= period * SECOND - MILLISECOND


def test_places_of_different_widths_lie_one_after_the_other():
    assert places(START, [SECOND, 3 * SECOND, SECOND]) == [START, START + SECOND, START + 4 * SECOND]


def test_a_place_between_two_milliseconds_is_not_used_early():
    thirds = [FlowControl(key="k", rate=3).interval] * 3
    assert [(at - START) / MILLISECOND for at in places(START, thirds)] == [0, 334, 667]


def test_a_place_is_for_one_instant_and_is_lost_when_it_stands_empty():
    assert still_counts(START, START, START)
    assert still_counts(START, START, START + PLACE_KEPT)
    assert not still_counts(START, START, START + PLACE_KEPT + MILLISECOND)
    assert not still_counts(START, START + SECOND, START + SECOND)
    assert not still_counts(None, START, START)


def entered(room, *runs, parallelism=2, now=START):
    return enter(room, runs, parallelism=parallelism, until=now + 40 * SECOND, now=now)


def test_a_room_takes_as_many_as_it_holds_in_their_order():
    found = entered(Room(), "a", "b", "c")
    assert found.room.runs == {"a": START + 40 * SECOND, "b": START + 40 * SECOND}
    assert found.turns.keys() == {"c"}
    assert found.room.version == 1


def test_a_run_that_is_in_already_stays_and_takes_no_second_place():
    full = entered(Room(), "a", "b").room
    again = entered(full, "b", "c", now=START + SECOND)
    assert again.room.runs == {"a": START + 40 * SECOND, "b": START + 41 * SECOND}
    assert again.turns.keys() == {"c"}


def test_a_run_whose_lease_is_over_takes_no_room():
    full = entered(Room(), "a", "b").room
    assert entered(full, "c", now=START + 40 * SECOND - MILLISECOND).turns
    later = entered(full, "c", now=START + 40 * SECOND)
    assert later.room.runs.keys() == {"c"}
    assert not later.turns


@given(st.lists(st.lists(st.integers(0, 60), max_size=12), max_size=8), st.integers(1, 9))
def test_there_are_never_more_in_a_room_than_may_be(batches, parallelism):
    room, now = Room(), START
    for batch in batches:
        found = entered(room, *dict.fromkeys(map(str, batch)), parallelism=parallelism, now=now)
        room, now = found.room, now + SECOND
        assert len(room.runs) <= parallelism
        assert room.runs.keys().isdisjoint(found.turns)


def test_turns_are_given_out_one_after_the_other_as_fast_as_runs_leave():
    room = Room(stay=4 * SECOND)
    first = entered(room, *"abcde", parallelism=2)
    turns = [first.turns[run] for run in "cde"]
    assert [later - turns[0] for later in turns] == [0 * SECOND, 2 * SECOND, 4 * SECOND]
    assert turns[0] > START
    second = entered(first.room, "f", parallelism=2)
    assert second.turns["f"] - turns[-1] == 2 * SECOND


def test_how_long_runs_stay_follows_what_they_do():
    stay = SECOND
    for _ in range(30):
        stay = stayed(stay, 9 * SECOND)
    assert stay == pytest.approx(9 * SECOND, abs=SECOND / 10)
