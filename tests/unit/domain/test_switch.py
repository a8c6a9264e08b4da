"""The positions of a switch, and the order in which stopped payments are released."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.instants import whole
from postdate.domain.switch import HISTORY_MAX, SETTLEMENT, Switch, is_name, of_target, of_tenant, turned

NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
TARGETS = frozenset({"webhook", "sqs"})


def after(*turns: tuple[bool, timedelta]) -> Switch:
    switch = Switch(name=SETTLEMENT)
    for on, later in turns:
        switch = turned(switch, on=on, now=NOON + later, by="key:1", why="test")
    return switch


def test_a_switch_that_was_never_turned_releases_each_payment_when_it_is_due() -> None:
    assert Switch(name=SETTLEMENT).released_at(NOON) == NOON


def test_a_switch_that_is_off_releases_nothing() -> None:
    assert after((False, 0 * SECOND)).released_at(NOON) is None


def test_a_turn_is_told_with_its_author_and_reason() -> None:
    switch = after((False, 0 * SECOND))
    (turn,) = switch.history
    assert (turn.at, turn.on, turn.by, turn.why, switch.version) == (NOON, False, "key:1", "test", 1)


def test_a_turn_to_the_same_position_changes_nothing() -> None:
    switch = after((False, 0 * SECOND))
    assert turned(switch, on=False, now=NOON + MINUTE, by="key:2", why="again") == switch


def test_the_history_keeps_the_newest_turns() -> None:
    switch = after(*((number % 2 == 1, number * MINUTE) for number in range(HISTORY_MAX + 10)))
    assert len(switch.history) == HISTORY_MAX
    assert switch.history[-1].at == NOON + (HISTORY_MAX + 9) * MINUTE
    assert switch.version == HISTORY_MAX + 10


@given(
    off=st.integers(0, 100_000),
    dues=st.lists(st.integers(-1000, 200_000), min_size=2, max_size=20),
)
def test_payments_are_released_in_their_order_and_never_early(off: int, dues: list[int]) -> None:
    switch = after((False, 0 * SECOND), (True, off * SECOND))
    released = [(NOON + due * SECOND, switch.released_at(NOON + due * SECOND)) for due in sorted(dues)]
    assert all(at is not None and at >= due for due, at in released)
    assert all(at == whole(at) for _, at in released if at), "a worker sleeps to the millisecond"
    assert all(first <= second for (_, first), (_, second) in pairwise(released) if first and second)
    assert all(at is not None and at == whole(at) for _, at in released)


@given(off=st.integers(0, 100_000), asked=st.integers(0, 100_000))
def test_each_waiting_call_is_back_before_the_first_release(off: int, asked: int) -> None:
    """A call that asked just before the switch was on again comes back after its pause, rounded up."""
    switch, on_at = after((False, 0 * SECOND)), NOON + off * SECOND
    asked_at = NOON + min(off, asked) * SECOND
    back_at = asked_at + switch.pause(asked_at) + SECOND
    released = turned(switch, on=True, now=on_at, by="", why="").released_at(NOON - MINUTE)
    assert released is not None
    assert released >= min(back_at, on_at + switch.pause(on_at) + SECOND)
    assert released >= back_at or asked_at + switch.pause(asked_at) < on_at


@pytest.mark.parametrize(
    ("off", "seconds"), [(10, 5.5), (60, 23), (3600, 62 + 360), (86_400, 62 + 900), (0, 4)]
)
def test_a_stop_is_caught_up_soon_after_it(off: int, seconds: float) -> None:
    switch = after((False, 0 * SECOND), (True, off * SECOND))
    assert switch.caught_up_at == NOON + (off + seconds) * SECOND


def test_a_payment_that_is_due_while_others_are_caught_up_waits_for_them() -> None:
    switch = after((False, 0 * SECOND), (True, MINUTE))
    due_at = NOON + MINUTE + SECOND
    assert switch.released_at(due_at) == switch.caught_up_at
    assert switch.caught_up_at is not None
    assert switch.released_at(switch.caught_up_at) == switch.caught_up_at
    assert switch.is_caught_up(switch.caught_up_at)
    assert not switch.is_caught_up(due_at)


def test_a_second_stop_before_the_first_is_caught_up_continues_the_first() -> None:
    once = after((False, 0 * SECOND), (True, 10 * SECOND), (False, 11 * SECOND), (True, 20 * SECOND))
    assert once.off_at == NOON
    apart = after((False, 0 * SECOND), (True, 10 * SECOND), (False, 30 * SECOND), (True, 40 * SECOND))
    assert apart.off_at == NOON + 30 * SECOND


def test_the_pause_of_a_waiting_call_grows_up_to_a_minute() -> None:
    switch = after((False, 0 * SECOND))
    pauses = [switch.pause(NOON + seconds * SECOND).total_seconds() for seconds in (0, 8, 40, 240, 86_400)]
    assert pauses == [2, 2, 10, 60, 60]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("settlement", True),
        ("api_writes", True),
        (of_tenant("acme"), True),
        (of_target("webhook"), True),
        (of_target("fax"), False),
        ("tenant:", False),
        ("tenant:ACME", False),
        ("payments", False),
        ("", False),
    ],
)
def test_only_switches_that_somebody_asks_for_have_a_name(name: str, known: bool) -> None:
    assert is_name(name, targets=TARGETS) is known
