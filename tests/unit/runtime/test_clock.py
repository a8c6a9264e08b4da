import time
from datetime import UTC, datetime, timedelta

from postdate.runtime.clock import SystemClock


def test_the_clock_tells_whole_milliseconds_and_is_never_ahead_of_itself():
    for _ in range(100):
        told = SystemClock().now()
        assert told <= datetime.fromtimestamp(time.time_ns() / 1e9 + 1e-6, UTC)
        assert told.microsecond % 1000 == 0


def test_a_sleeper_wakes_at_the_instant_or_just_after_and_never_before():
    clock = SystemClock()
    instant = clock.now() + timedelta(milliseconds=15)
    clock.sleep_until(instant)
    assert instant <= clock.now() < instant + timedelta(seconds=1)


def test_nobody_sleeps_for_an_instant_that_has_passed():
    began = time.monotonic()
    SystemClock().sleep_until(SystemClock().now() - timedelta(days=1))
    assert time.monotonic() - began < 1
