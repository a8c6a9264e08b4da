"""Shares of tenants and items, and bounds over the retries of all tasks."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.parameters import PaymentRetries, TaskRetries, read
from postdate.domain.retry import RetryPolicy
from postdate.domain.rollouts import Flag, RetryExperiment, RetrySetting, percentile_of
from tests.unit.doubles import START

TENANTS = [f"tenant-{number}" for number in range(2000)]


def test_a_flag_is_on_for_its_share_of_the_tenants() -> None:
    on = sum(Flag(percent=10).is_on("long_waits", each) for each in TENANTS)
    assert 160 <= on <= 240


@given(st.integers(0, 100), st.integers(0, 100))
def test_a_larger_share_contains_the_smaller_one(one: int, other: int) -> None:
    less, more = sorted((one, other))
    on = {each for each in TENANTS[:200] if Flag(percent=less).is_on("x", each)}
    assert on <= {each for each in TENANTS[:200] if Flag(percent=more).is_on("x", each)}


def test_two_flags_choose_independently() -> None:
    both = sum(Flag(percent=50).is_on("x", each) and Flag(percent=50).is_on("y", each) for each in TENANTS)
    assert 400 <= both <= 600


def test_rules_for_tenants_count_before_the_share_and_off_before_on() -> None:
    flag = Flag(percent=100, off=("acme",), on=("acme", "umbrella"))
    assert not flag.is_on("x", "acme")
    assert Flag(percent=0, on=("umbrella",)).is_on("x", "umbrella")
    assert not Flag(percent=0).is_on("x", "acme")


def test_the_percentile_of_a_tenant_never_changes() -> None:
    """A changed hash would move tenants between arms while an experiment runs."""
    assert [percentile_of("long_waits", each) for each in ("acme", "umbrella", "demo")] == PERCENTILES


PERCENTILES = [54, 97, 65]


@pytest.mark.parametrize("by", ["tenant", "item"])
def test_an_experiment_has_two_arms_of_one_size_and_a_rest(by: str) -> None:
    experiment = RetryExperiment(percent=10, by=by)
    arms = [experiment.arm("acme" if by == "item" else each, each) for each in TENANTS]
    assert all(160 <= arms.count(arm) <= 240 for arm in ("a", "b"))
    assert arms.count(None) >= 1500


def test_all_tasks_of_a_tenant_have_one_arm_unless_items_are_divided() -> None:
    experiment = RetryExperiment(percent=50)
    assert len({experiment.arm("acme", each) for each in TENANTS}) == 1


def test_without_a_percentage_nobody_takes_part() -> None:
    assert {RetryExperiment().arm(each, each) for each in TENANTS} == {None}


def test_an_arm_changes_the_pauses_of_a_task() -> None:
    policy = RetryPolicy(max_attempts=9, initial_seconds=10, max_seconds=1000, jitter=False)
    setting = RetrySetting(first_pause_percent=50, longest_pause_percent=20)
    assert setting.of(policy).next_attempt_at(attempts=1, now=START, draw=0) == START + timedelta(seconds=5)
    assert setting.of(policy).max_seconds == 200
    assert RetrySetting().of(policy) == policy


def test_bounds_of_retries_hold_for_every_policy() -> None:
    policy = RetryPolicy(max_attempts=50, initial_seconds=1, max_seconds=86_400, jitter=False)
    bounds = TaskRetries(attempts_max=3, pause_seconds_min=5, pause_seconds_max=60)
    bound = bounds.within(policy)
    assert (bound.max_attempts, bound.initial_seconds, bound.max_seconds) == (3, 5, 60)
    assert TaskRetries().within(policy) is policy
    assert PaymentRetries().over(policy) is policy
    assert PaymentRetries(attempts_max=7, first_pause_seconds=9).over(policy).max_attempts == 7


def test_a_document_sets_a_flag_and_an_experiment() -> None:
    document = {
        "flags": {"long_waits": {"percent": 10, "on": ["acme"]}},
        "experiments": {"task_retries": {"percent": 50, "by": "item", "b": {"first_pause_percent": 200}}},
    }
    found = read(document)
    assert found.flags.long_waits == Flag(percent=10, on=("acme",))
    assert found.experiments.task_retries.setting("b").first_pause_percent == 200
    assert read({"flags": {"long_waits": {"on": ["acme"]}}}).flags.long_waits.percent == 100
