"""A copy of a function asks for its parameters now and then, and uses the answer."""

import json
from datetime import timedelta

import pytest

from postdate.domain.errors import Unavailable
from postdate.domain.parameters import DEFAULTS
from postdate.runtime.parameters import READ_EVERY, STALE_AFTER, CurrentParameters, parameters_at
from tests.unit.doubles import SECOND, START, ManualClock


class Documents:
    """A source that tells what it is told to tell, and counts the questions."""

    def __init__(self) -> None:
        self.asked = 0
        self.next: bytes | Exception | None = None

    def changed(self) -> bytes | None:
        self.asked += 1
        told, self.next = self.next, None
        if isinstance(told, Exception):
            raise told
        return told


def batch_max(most: int) -> bytes:
    return json.dumps({"registering": {"batch_max": most}}).encode()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def source() -> Documents:
    return Documents()


def event(parameters: CurrentParameters, clock: ManualClock, lasts: timedelta = timedelta(0)) -> int:
    """The value that the event uses."""
    with parameters.fresh():
        used = parameters.values.registering.batch_max
        clock.sleep_until(clock.now() + lasts)
    return used


def test_without_a_place_the_defaults_count_and_nothing_is_asked(clock: ManualClock) -> None:
    parameters = parameters_at("none", clock=clock)
    assert event(parameters, clock) == DEFAULTS.registering.batch_max
    assert parameters.version == ""


def wired(source: Documents, clock: ManualClock) -> CurrentParameters:
    """A copy that had its first event now."""
    parameters = CurrentParameters(source, clock=clock)
    event(parameters, clock)
    return parameters


def test_a_new_copy_asks_before_its_first_event_and_not_before(clock: ManualClock, source: Documents) -> None:
    source.next = batch_max(7)
    parameters = CurrentParameters(source, clock=clock)
    assert source.asked == 0
    assert (event(parameters, clock), source.asked) == (7, 1)
    assert len(parameters.version) == 12


def test_events_ask_nothing_while_the_reading_is_young(clock: ManualClock, source: Documents) -> None:
    parameters = wired(source, clock)
    for _ in range(1000):
        event(parameters, clock, timedelta(milliseconds=19))
    assert source.asked == 1


def test_a_busy_copy_asks_after_its_event_and_not_before(clock: ManualClock, source: Documents) -> None:
    parameters = wired(source, clock)
    clock.sleep_until(START + READ_EVERY)
    source.next = batch_max(7)
    assert event(parameters, clock) == DEFAULTS.registering.batch_max
    assert source.asked == 2
    assert event(parameters, clock) == 7


def test_a_copy_that_was_idle_asks_before_its_event(clock: ManualClock, source: Documents) -> None:
    parameters = wired(source, clock)
    clock.sleep_until(START + STALE_AFTER)
    source.next = batch_max(7)
    assert event(parameters, clock) == 7
    assert source.asked == 2


@pytest.mark.parametrize("pause", [1, 7, 19, 20, 39, 40, 3600])
def test_a_change_is_used_within_a_minute_however_often_a_copy_has_events(
    clock: ManualClock, source: Documents, pause: int
) -> None:
    parameters = wired(source, clock)
    changed_at = START + 5 * SECOND
    told = False
    while True:
        clock.sleep_until(clock.now() + pause * SECOND)
        if not told and clock.now() >= changed_at:
            source.next, told = batch_max(7), True
        if event(parameters, clock) == 7:
            break
        assert clock.now() < changed_at + 60 * SECOND
    assert source.asked <= 2 + (clock.now() - START) / READ_EVERY


@pytest.mark.parametrize(
    "answer",
    [
        Unavailable("InternalServerException"),
        b"no JSON",
        b"\xff",
        b"[]",
        b'{"registering": {"batch_max": 101}}',
        b'{"registering": {"batch_max": true}}',
        b'{"registering": 5}',
    ],
)
def test_an_answer_that_cannot_be_used_leaves_the_last_good_one(
    clock: ManualClock, source: Documents, answer: bytes | Exception
) -> None:
    source.next = batch_max(7)
    parameters = wired(source, clock)
    version = parameters.version
    clock.sleep_until(START + STALE_AFTER)
    source.next = answer
    assert event(parameters, clock) == 7
    assert (source.asked, parameters.version) == (2, version)


def test_names_of_a_newer_release_are_passed_over(clock: ManualClock, source: Documents) -> None:
    source.next = b'{"registering": {"batch_max": 7, "newer": {"x": 1}}, "newest": []}'
    assert wired(source, clock).values.registering.batch_max == 7


def test_a_clock_that_was_set_back_makes_the_reading_old(clock: ManualClock, source: Documents) -> None:
    parameters = wired(source, clock)
    parameters._clock = ManualClock(START - SECOND)
    event(parameters, clock)
    assert source.asked >= 2
