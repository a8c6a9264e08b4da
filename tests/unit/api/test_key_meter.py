"""Limit of a key's requests a second, and the cost of counting them."""

from dataclasses import replace

import pytest

from functions.api.limits.of_keys import KeyMeter
from postdate.domain.errors import RateLimited, Unavailable
from postdate.domain.limits import WINDOW
from postdate.stores.api_key import ApiKey
from postdate.stores.flow_memory import MemoryFlow
from tests.unit.doubles import SECOND, ManualClock

A_SECOND = 10
IN_A_WINDOW = 100
KEY = ApiKey(
    id="k1", secret_sha256="", tenant="acme", scopes=frozenset({"tasks:read"}), requests_a_second=A_SECOND
)


class CountingFlow(MemoryFlow):
    def __init__(self):
        super().__init__()
        self.asked = 0
        self.unavailable = False

    def take_by(self, *given, **named):
        self.asked += 1
        if self.unavailable:
            raise Unavailable
        return super().take_by(*given, **named)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def flow():
    return CountingFlow()


@pytest.fixture
def meter(flow, clock):
    return KeyMeter(flow=flow, clock=clock)


def admitted(meter, *, key=KEY, most=1000):
    for count in range(most):
        try:
            meter.take(key)
        except RateLimited:
            return count
    return most


def test_a_window_is_admitted_and_not_one_request_more(meter):
    assert admitted(meter) == IN_A_WINDOW
    assert admitted(meter) == 0


def test_each_second_admits_as_many_as_the_limit_says(meter, clock):
    admitted(meter)
    clock.move(3 * SECOND)
    assert admitted(meter) == 3 * A_SECOND


def test_a_request_asks_for_a_twentieth_of_a_window_at_once(meter, flow):
    admitted(meter)
    assert flow.asked == 21
    for _ in range(50):
        admitted(meter)
    assert flow.asked == 21


def test_two_copies_together_admit_one_window_and_what_one_of_them_had_left(flow, clock):
    first, second = (KeyMeter(flow=flow, clock=clock) for _ in range(2))
    first.take(KEY)
    assert admitted(second) == IN_A_WINDOW - 5
    assert admitted(first) == 4


def test_requests_that_a_copy_did_not_use_within_a_window_are_void(flow, clock, meter):
    meter.take(KEY)
    clock.move(WINDOW)
    assert admitted(KeyMeter(flow=flow, clock=clock)) == IN_A_WINDOW
    assert admitted(meter) == 0


def test_each_request_tells_what_is_left_of_the_limit(meter, clock):
    meter.take(KEY)
    assert meter.told.headers() == {
        "RateLimit-Policy": '"requests";q=100;w=10',
        "RateLimit": '"requests";r=99;t=1',
    }
    for left in range(98, -1, -1):
        meter.take(KEY)
        assert meter.told.left == left
    with pytest.raises(RateLimited) as refused:
        meter.take(KEY)
    assert (meter.told.left, meter.told.whole_after, refused.value.retry_seconds) == (0, 10, 1)


def test_keys_are_counted_by_themselves_and_keys_without_a_limit_not_at_all(meter, flow):
    admitted(meter)
    assert admitted(meter, key=replace(KEY, id="k2")) == IN_A_WINDOW
    before = flow.asked
    meter.told = None
    assert admitted(meter, key=replace(KEY, id="k3", requests_a_second=None)) == 1000
    assert (flow.asked, meter.told) == (before, None)


def test_an_operators_key_has_its_limit_too(meter):
    assert admitted(meter, key=replace(KEY, tenant=None)) == IN_A_WINDOW


def test_nobody_is_refused_while_the_table_does_not_answer(meter, flow):
    flow.unavailable = True
    assert admitted(meter) == 1000
