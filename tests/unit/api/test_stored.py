"""Limit of a tenant's stored tasks, and the cost of counting them."""

from datetime import timedelta

import pytest

from functions.api.limits.stored import ADDED_AT_ONCE, StoredTasks
from postdate.domain.errors import QuotaExceeded, Unavailable
from postdate.stores.flow_memory import MemoryFlow
from tests.unit.doubles import START, ManualClock

MOST = 4 * ADDED_AT_ONCE
DAY = timedelta(days=1)


class CountingFlow(MemoryFlow):
    def __init__(self):
        super().__init__()
        self.asked = 0
        self.unavailable = False

    def _asked(self):
        self.asked += 1
        if self.unavailable:
            raise Unavailable

    def add(self, *given, **named):
        self._asked()
        return super().add(*given, **named)

    def counts(self, *given, **named):
        self._asked()
        return super().counts(*given, **named)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def flow():
    return CountingFlow()


@pytest.fixture
def stored(flow, clock):
    return StoredTasks(flow=flow, clock=clock, most=MOST)


def register(stored, tasks, *, at=START, tenant="demo"):
    stored.refuse_above(tenant, tasks)
    stored.add(tenant, [at] * tasks)


def test_a_request_is_made_for_each_250_tasks_and_none_before(stored, flow):
    register(stored, ADDED_AT_ONCE - 1)
    assert flow.asked == 0
    register(stored, 1)
    assert flow.asked == 1
    for place in range(ADDED_AT_ONCE - 1):
        register(stored, 1, at=START + place * DAY)
    assert flow.asked == 1
    register(stored, 1)
    assert flow.asked == 2


def test_more_than_may_be_stored_is_refused_and_another_tenant_is_not(stored):
    for _ in range(4):
        register(stored, ADDED_AT_ONCE)
    with pytest.raises(QuotaExceeded) as refused:
        register(stored, 1)
    assert (refused.value.quota, refused.value.most) == ("tasks_stored", MOST)
    register(stored, 1, tenant="other")


def test_copies_of_the_function_count_together(stored, flow, clock):
    other = StoredTasks(flow=flow, clock=clock, most=MOST)
    for _ in range(2):
        register(stored, ADDED_AT_ONCE)
        register(other, ADDED_AT_ONCE)
    assert stored.used("demo") == other.used("demo") == MOST
    for each in (stored, other):
        with pytest.raises(QuotaExceeded):
            register(each, 1)


def test_tasks_count_until_they_are_deleted(stored, clock):
    """And a tenant that was refused is not refused for ever."""
    register(stored, MOST - ADDED_AT_ONCE)
    register(stored, ADDED_AT_ONCE, at=START + 300 * DAY)
    clock.sleep_until(START + 35 * DAY)
    with pytest.raises(QuotaExceeded):
        register(stored, 1)
    clock.sleep_until(START + 45 * DAY)
    assert stored.used("demo") == ADDED_AT_ONCE
    register(stored, 1)


def test_nobody_is_refused_because_a_table_does_not_answer_and_it_is_asked_once_a_minute(stored, flow, clock):
    flow.unavailable = True
    for _ in range(2):
        register(stored, ADDED_AT_ONCE)
    assert flow.asked == 1
    flow.unavailable = False
    clock.sleep_until(START + timedelta(seconds=60))
    register(stored, 1)
    assert sum(flow.counts("demo", "tasks_stored", since=0).values()) == 2 * ADDED_AT_ONCE + 1
