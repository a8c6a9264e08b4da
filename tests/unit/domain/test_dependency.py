"""The breaker of a table or a service: it opens, lets one call try, and closes."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.dependency import CLOSED, OF_OTHERS, OF_TABLES, Health, admitted, answered, failed
from tests.unit.doubles import SECOND, START

MILLISECOND = timedelta(milliseconds=1)


def after(failures: int, health: Health = CLOSED) -> Health:
    for number in range(failures):
        health = failed(health, now=START + number * MILLISECOND, error="Throttling", patience=OF_TABLES)
    return health


def test_ten_failures_in_a_row_open_the_breaker_of_a_table() -> None:
    assert after(9).open_until is None
    health = after(10)
    assert health.is_open(START + SECOND)
    assert (health.opened, health.error) == (1, "Throttling")
    assert health.since == START + 9 * MILLISECOND


def test_an_answer_in_between_counts_from_the_beginning() -> None:
    assert after(9, answered(after(9))).open_until is None


def test_no_call_goes_out_while_it_is_open_and_one_may_try_after_it() -> None:
    health = after(10)
    until = health.open_until
    assert until is not None
    assert admitted(health, now=until - MILLISECOND, patience=OF_TABLES) == (False, health)
    may, trying = admitted(health, now=until, patience=OF_TABLES)
    assert may
    assert admitted(trying, now=until, patience=OF_TABLES)[0] is False
    assert answered(trying) == CLOSED


def test_a_try_of_which_nothing_is_heard_is_followed_by_another() -> None:
    health = after(10)
    until = health.open_until
    assert until is not None
    _, trying = admitted(health, now=until, patience=OF_TABLES)
    assert admitted(trying, now=until + OF_TABLES.first, patience=OF_TABLES)[0]


@given(st.integers(1, 100))
def test_each_try_that_fails_opens_it_for_twice_the_time_up_to_a_maximum(tries: int) -> None:
    health = after(10)
    for number in range(1, tries + 1):
        until = health.open_until
        assert until is not None
        _, trying = admitted(health, now=until, patience=OF_TABLES)
        # Sooner than the breaker would let the next call try.
        heard_at = until + MILLISECOND
        health = failed(trying, now=heard_at, error="Throttling", patience=OF_TABLES)
        assert health.open_until == heard_at + min(OF_TABLES.first * 2 ** min(number, 16), OF_TABLES.longest)
        assert health.since == START + 9 * MILLISECOND


def test_a_failure_of_an_earlier_call_changes_nothing_while_it_is_open() -> None:
    health = after(10)
    assert failed(health, now=START + 20 * MILLISECOND, error="late", patience=OF_TABLES) == health


def test_other_services_open_sooner_and_longer() -> None:
    health = CLOSED
    for _ in range(3):
        health = failed(health, now=START, error="ConnectTimeoutError", patience=OF_OTHERS)
    assert health.open_until == START + 5 * SECOND
