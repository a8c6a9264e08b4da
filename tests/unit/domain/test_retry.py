from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.retry import RetryPolicy, put_off_seconds
from tests.unit.doubles import START

DRAWS = st.floats(0, 1, exclude_max=True)
POLICIES = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 50),
    initial_seconds=st.floats(0.1, 86_400),
    multiplier=st.floats(1, 10),
    max_seconds=st.floats(1, 86_400),
    jitter=st.booleans(),
)
ROUNDING = timedelta(milliseconds=1)


def delay(policy, attempts, draw=0.0, **asked):
    at = policy.next_attempt_at(attempts=attempts, now=START, draw=draw, **asked)
    return None if at is None else at - START


@given(policy=POLICIES, attempts=st.integers(1, 50), draw=DRAWS)
def test_a_retry_waits_between_the_initial_and_the_longest_delay_until_attempts_are_used_up(
    policy, attempts, draw
):
    waits = delay(policy, attempts, draw)
    if attempts >= policy.max_attempts:
        assert waits is None
        return
    longest = timedelta(seconds=policy.max_seconds)
    shortest = min(timedelta(seconds=policy.initial_seconds), longest)
    assert shortest - ROUNDING <= waits <= longest + ROUNDING


@given(policy=POLICIES, draw=DRAWS, asked=st.floats(0, 1e9))
def test_the_wait_that_a_receiver_asks_for_counts_up_to_the_longest_delay(policy, draw, asked):
    own, waits = delay(policy, 1, draw), delay(policy, 1, draw, asked_seconds=asked)
    if own is None:
        assert waits is None
        return
    longest = timedelta(seconds=policy.max_seconds)
    assert own - ROUNDING <= waits <= longest + ROUNDING
    assert waits + ROUNDING >= min(timedelta(seconds=asked), longest)


@given(policy=POLICIES, draw=DRAWS)
def test_the_delay_never_shrinks_from_one_attempt_to_the_next_for_the_same_draw(policy, draw):
    delays = [delay(policy, attempts, draw) for attempts in range(1, policy.max_attempts)]
    assert delays == sorted(delays)


def test_without_jitter_the_backoff_doubles_from_the_initial_delay_up_to_the_longest():
    policy = RetryPolicy(max_attempts=6, initial_seconds=5, multiplier=2, max_seconds=30, jitter=False)
    assert [delay(policy, attempts) for attempts in range(1, 7)] == [
        *(timedelta(seconds=seconds) for seconds in (5, 10, 20, 30, 30)),
        None,
    ]


def test_the_default_spans_more_than_a_day_in_the_mean_with_at_most_thirty_attempts():
    policy = RetryPolicy()
    waits = [delay(policy, attempts, draw=0.5) for attempts in range(1, policy.max_attempts)]
    assert len(waits) + 1 <= 30
    assert sum(waits, timedelta(0)) > timedelta(hours=24)
    assert sum(waits[:8], timedelta(0)) < timedelta(hours=1)
    assert max(waits) <= timedelta(hours=3)


def test_with_jitter_the_draw_spreads_over_the_whole_range():
    policy = RetryPolicy(initial_seconds=10, multiplier=3, max_seconds=900)
    assert delay(policy, 1, 0.0) == timedelta(seconds=10)
    assert delay(policy, 1, 0.5) == timedelta(seconds=20)
    assert delay(policy, 2, 0.5) == timedelta(seconds=50)


@pytest.mark.parametrize("attempts", [64, 1_000, 1_000_000])
def test_no_number_of_attempts_overflows(attempts):
    policy = RetryPolicy(max_attempts=10**9, multiplier=10, max_seconds=900)
    assert delay(policy, attempts, 0.999) <= timedelta(seconds=900)


def test_a_retry_is_due_at_a_whole_millisecond_as_every_instant_is():
    at = RetryPolicy().next_attempt_at(attempts=1, now=START, draw=0.123456789)
    assert at.microsecond % 1000 == 0


@pytest.mark.parametrize(
    ("late", "draw", "pause"),
    [(0, 0.99, 2), (4, 0.99, 2), (10, 0.0, 2), (10, 0.8, 4), (30, 0.8, 12), (60, 0.8, 16), (9_999, 0.9, 16)],
)
def test_a_throttled_claim_waits_up_to_half_of_its_lateness(late, draw, pause):
    assert put_off_seconds(late, draw) == pause


@given(st.floats(0, 0.999), st.floats(0, 100_000), st.floats(0, 100_000))
def test_who_is_later_waits_no_shorter(draw, one, other):
    earlier, later = sorted((one, other))
    assert put_off_seconds(earlier, draw) <= put_off_seconds(later, draw)


def test_a_throttled_claim_is_tried_few_times_in_ten_minutes():
    """A fixed pause of two seconds made 300 tries."""
    late, tries = 0.0, 0
    while late < 600:
        late, tries = late + put_off_seconds(late, 0.5), tries + 1
    assert tries < 60
