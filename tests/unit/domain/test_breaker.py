from datetime import timedelta
from itertools import pairwise

from postdate.domain import breaker
from postdate.domain.breaker import (
    FAILURES_TO_OPEN,
    FAILURES_WITHIN,
    OPEN_MAX,
    PROBE_EVERY,
    RECOVERY,
    TURN,
    Breaker,
    State,
)
from tests.unit.doubles import MINUTE, SECOND, START

MILLISECOND = timedelta(milliseconds=1)


def opened(*, times=1, now=START):
    """Opened so many times in a row, at last `now`."""
    found = breaker.failed(Breaker(), FAILURES_TO_OPEN, now=now)
    for _ in range(times - 1):
        found = breaker.failed(trying(found), 1, now=found.open_until)
    return found


def trying(found):
    tried = breaker.probe(found, now=found.open_until, until=found.open_until + 10 * SECOND)
    assert tried is not None
    return tried


def test_ten_failures_in_a_row_open_it_and_nine_do_not():
    nine = breaker.failed(breaker.failed(Breaker(), 4, now=START), 5, now=START + SECOND)
    assert nine.state(START + SECOND) is State.CLOSED
    ten = breaker.failed(nine, 1, now=START + 2 * SECOND)
    assert ten.state(START + 2 * SECOND) is State.OPEN
    assert ten.open_until == START + 22 * SECOND


def test_each_change_is_one_version():
    nine = breaker.failed(Breaker(), 9, now=START)
    ten = breaker.failed(nine, 1, now=START)
    tried = trying(ten)
    again = breaker.failed(tried, 1, now=ten.open_until)
    versions = [each.version for each in (nine, ten, tried, again, breaker.answered(again, now=START))]
    assert versions == [1, 2, 3, 4, 5]


def test_failures_that_lie_far_apart_do_not_add_up():
    nine = breaker.failed(Breaker(), 9, now=START)
    assert breaker.failed(nine, 1, now=START + FAILURES_WITHIN).open_until
    late = breaker.failed(nine, 1, now=START + FAILURES_WITHIN + MILLISECOND)
    assert (late.failures, late.open_until) == (1, None)


def test_an_answer_makes_it_forget_and_costs_nothing_when_there_is_nothing_to_forget():
    assert breaker.answered(Breaker(version=7), now=START) == Breaker(version=7)
    assert breaker.answered(breaker.failed(Breaker(), 9, now=START), now=START) == Breaker(version=2)
    found = breaker.answered(opened(), now=START)
    assert found == Breaker(version=2, closed_at=START, events=2)
    assert found.state(START + RECOVERY - MILLISECOND) is State.RECOVERING
    assert found.state(START + RECOVERY) is State.CLOSED


def test_an_answer_while_it_recovers_does_not_begin_the_recovery_anew():
    recovering = breaker.answered(opened(), now=START)
    stumbling = breaker.failed(recovering, 3, now=START + SECOND)
    again = breaker.answered(stumbling, now=START + 2 * SECOND)
    assert (again.closed_at, again.failures) == (START, 0)


def test_failures_of_calls_sent_before_the_opening_change_nothing():
    found = opened()
    assert breaker.failed(found, 50, now=START + SECOND) == found
    assert breaker.failed(found, 50, now=found.open_until) == found


def test_one_may_try_when_the_time_is_over_and_another_if_nothing_is_heard_of_it():
    found = opened()
    before = found.open_until - MILLISECOND
    assert found.state(before) is State.OPEN
    assert breaker.probe(found, now=before, until=before + MINUTE) is None
    assert found.state(found.open_until) is State.HALF_OPEN
    tried = trying(found)
    assert tried.state(found.open_until) is State.PROBING
    assert breaker.probe(tried, now=found.open_until, until=found.open_until + MINUTE) is None
    assert tried.state(tried.probe_until) is State.HALF_OPEN
    assert breaker.probe(Breaker(), now=START, until=START + MINUTE) is None


def test_it_is_tried_every_twenty_seconds_for_ten_minutes_and_then_after_a_tenth_of_the_outage():
    tried_at, found = [], opened()
    while found.open_until < START + timedelta(days=1):
        now = found.open_until
        tried_at.append(now - START)
        found = breaker.failed(trying(found), 1, now=now)
    gaps = {at: later - at for at, later in pairwise(tried_at)}
    often = [gap for at, gap in gaps.items() if at < timedelta(minutes=10)]
    assert set(often) == {PROBE_EVERY}
    assert PROBE_EVERY <= 30 * SECOND
    assert len(often) == 29
    later = {at: gap for at, gap in gaps.items() if at >= timedelta(minutes=10)}
    assert all(timedelta(0) <= gap - min(at / 10, OPEN_MAX) < MILLISECOND for at, gap in later.items())
    assert gaps[max(gaps)] == OPEN_MAX == 900 * SECOND


def test_a_probe_that_hangs_does_not_keep_the_next_one_waiting():
    found = opened()
    now = found.open_until
    tried = breaker.probe(found, now=now, until=now + 65 * SECOND)
    assert tried.state(now + PROBE_EVERY - MILLISECOND) is State.PROBING
    assert tried.state(now + PROBE_EVERY) is State.HALF_OPEN


def test_after_an_answer_it_begins_anew():
    answered = breaker.answered(trying(opened(times=50)), now=START)
    again = breaker.failed(answered, 10, now=START)
    assert (again.open_until, again.down_since, again.opened) == (START + PROBE_EVERY, START, 1)


class TestTurns:
    def test_the_first_of_all_comes_when_it_may_be_tried_and_the_others_when_that_is_over(self):
        found = opened()
        begin = found.asks_again_from(START)
        assert begin == found.open_until
        first, *others = breaker.turns(found, begin, 40, now=START)
        assert first == found.open_until
        assert {at - first for at in others} == {SECOND + place * TURN for place in range(1, 40)}
        later = breaker.turns(found, begin + 40 * TURN, 2, now=START)
        assert later == [begin + SECOND + 40 * TURN, begin + SECOND + 41 * TURN]

    def test_while_it_is_being_tried_all_come_when_the_probe_is_over(self):
        tried = trying(opened())
        now = tried.open_until
        assert tried.asks_again_from(now) == tried.probe_until
        assert breaker.turns(tried, tried.probe_until, 1, now=now) == [tried.probe_until + SECOND]

    def test_a_hundred_thousand_that_wait_ask_five_hundred_times_a_second(self):
        assert 100_000 * TURN == 200 * SECOND


class TestStarts:
    def test_calls_begin_at_ten_a_second_and_the_rate_doubles_every_two_seconds(self):
        found = breaker.answered(opened(), now=START)
        at = breaker.starts(found, range(30_000))
        assert at[0] == START
        assert at == sorted(at)
        counts = [
            sum(START + n * SECOND <= each < START + (n + 1) * SECOND for each in at) for n in range(20)
        ]
        assert 10 <= counts[0] <= 13
        assert all(1.3 <= later / count <= 1.5 for count, later in pairwise(counts[1:]))

    def test_a_crowd_that_comes_late_begins_at_the_rate_of_that_moment(self):
        found = breaker.answered(opened(), now=START)
        assert breaker.begun(found, START) == breaker.begun(found, START - SECOND) == 0
        late = START + 4 * SECOND
        first = breaker.begun(found, late)
        at = breaker.starts(found, range(first, first + 1000))
        assert late <= at[0] <= late + 50 * MILLISECOND
        assert 40 <= sum(each < late + SECOND for each in at) <= 52

    def test_forty_begin_within_three_seconds_and_a_thousand_within_eleven(self):
        found = breaker.answered(opened(), now=START)
        assert breaker.starts(found, [39]) < [START + 3 * SECOND]
        assert breaker.starts(found, [999]) < [START + 11 * SECOND]
        assert breaker.starts(found, [29_000]) < [START + RECOVERY]


def test_it_rests_when_nothing_is_held_against_it():
    nine = breaker.failed(Breaker(), 9, now=START)
    recovering = breaker.answered(opened(), now=START)
    assert Breaker().is_calm(START)
    assert not nine.is_calm(START)
    assert nine.is_calm(START + FAILURES_WITHIN + MILLISECOND)
    assert not opened().is_calm(START)
    assert not recovering.is_calm(START)
    assert recovering.is_calm(START + RECOVERY)
