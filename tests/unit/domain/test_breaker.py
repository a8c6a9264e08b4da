from datetime import timedelta

from postdate.domain import breaker
from postdate.domain.breaker import FAILURES_TO_OPEN, FAILURES_WITHIN, OPEN_MAX, Breaker, State
from tests.unit.doubles import MINUTE, SECOND, START

MILLISECOND = timedelta(milliseconds=1)


def opened(*, times=1, now=START):
    """Opened so many times in a row, at last `now`."""
    found = breaker.failed(Breaker(), FAILURES_TO_OPEN, now=now)
    for _ in range(times - 1):
        found = breaker.failed(trying(found), 1, now=found.open_until)
    return found


def trying(found):
    tried = breaker.probe(found, now=found.open_until, until=found.open_until + 35 * SECOND)
    assert tried is not None
    return tried


def test_ten_failures_in_a_row_open_it_and_nine_do_not():
    nine = breaker.failed(breaker.failed(Breaker(), 4, now=START), 5, now=START + SECOND)
    assert nine.state(START + SECOND) is State.CLOSED
    ten = breaker.failed(nine, 1, now=START + 2 * SECOND)
    assert ten.state(START + 2 * SECOND) is State.OPEN
    assert ten.open_until == START + 32 * SECOND


def test_each_change_is_one_version():
    nine = breaker.failed(Breaker(), 9, now=START)
    ten = breaker.failed(nine, 1, now=START)
    tried = trying(ten)
    again = breaker.failed(tried, 1, now=ten.open_until)
    versions = [each.version for each in (nine, ten, tried, again, breaker.answered(again))]
    assert versions == [1, 2, 3, 4, 5]


def test_failures_that_lie_far_apart_do_not_add_up():
    nine = breaker.failed(Breaker(), 9, now=START)
    assert breaker.failed(nine, 1, now=START + FAILURES_WITHIN).open_until
    late = breaker.failed(nine, 1, now=START + FAILURES_WITHIN + MILLISECOND)
    assert (late.failures, late.open_until) == (1, None)


def test_an_answer_makes_it_forget_and_costs_nothing_when_there_is_nothing_to_forget():
    assert breaker.answered(Breaker(version=7)) == Breaker(version=7)
    assert breaker.answered(breaker.failed(Breaker(), 9, now=START)) == Breaker(version=2)
    assert breaker.answered(opened()).state(START) is State.CLOSED


def test_what_was_sent_before_it_opened_says_nothing_new():
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


def test_it_stays_open_twice_as_long_each_time_up_to_a_limit():
    lengths, found = [], opened()
    for _ in range(8):
        now = found.open_until
        found = breaker.failed(trying(found), 1, now=now)
        lengths.append((found.open_until - now) // SECOND)
    assert lengths == [60, 120, 240, 480, 900, 900, 900, 900]
    assert OPEN_MAX == 900 * SECOND


def test_after_an_answer_it_begins_anew():
    again = breaker.failed(breaker.answered(trying(opened(times=5))), 10, now=START)
    assert again.open_until == START + 30 * SECOND


def test_who_may_not_call_asks_again_behind_the_instant_and_not_all_at_once():
    found = opened()
    assert found.ask_again_at(START, 0.0) == found.open_until
    assert found.ask_again_at(START, 1.0) == found.open_until + 30 * SECOND
    tried = trying(found)
    now = found.open_until
    assert now < tried.ask_again_at(now, 0.0) < tried.ask_again_at(now, 1.0) <= now + 6 * SECOND
