"""A line of the case `lists` says of a walk how long its pages took and whether it was complete."""

from datetime import UTC, datetime

from bench import listed, report
from bench.lists import Walked, line
from postdate.domain.payment import State
from postdate.domain.slots import ShardPlan

NOW = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)


def test_a_walk_that_shows_each_once_in_time_breaks_no_promise():
    found = line("all", Walked(pages=[["a", "b"], ["c", "new"]], took_ms=[100, 7]), {"a", "b", "c"})
    assert (found["count"], found["max_ms"], report.broken([found])) == (2, 100, None)


def test_missing_doubled_and_late_entries_of_a_list_break_the_promise():
    found = line("all", Walked(pages=[["a"], ["a", "new", "new"]], took_ms=[100.5, 7]), {"a", "b"})
    assert (found["missing"], found["twice"], found["late"]) == (1, 1, 1)
    assert report.broken([found]) == "lists all: 1 missing, 1 twice, 1 late"


def test_the_payments_of_the_case_are_over_all_accounts_and_a_few_of_them_failed():
    found = list(listed.payments("listed", 1000, 50, shards=ShardPlan.parse("0=4"), now=NOW))
    assert len({payment.id for payment in found}) == 1000
    assert {payment.payer for payment in found} == {listed.account(number) for number in range(50)}
    states = [payment.state for payment in found]
    assert states.count(State.PENDING) == 500
    assert states.count(State.FAILED) == 500 // listed.FAILED_EACH
    assert all((payment.planned_at >= NOW) == (payment.state is State.PENDING) for payment in found)
