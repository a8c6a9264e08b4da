"""Limit of a tenant's registrations a second, and the cost of counting them."""

import pytest

from functions.api.limits.meter import ALLOWANCE, Meter
from postdate.domain.errors import Forbidden, QuotaExceeded, Unavailable
from postdate.domain.limits import REGISTERED_A_SECOND, REGISTERED_A_SECOND_OF, WINDOW
from postdate.domain.tenancy import Tenancy
from postdate.runtime.metric import TIERS
from postdate.stores.flow_memory import MemoryFlow
from postdate.stores.tenants import Tenant
from tests.unit.doubles import SECOND, ManualClock

A_SECOND = 100
FREE, SHARED = ALLOWANCE, A_SECOND * 10


def narrow(tenant):
    return Tenant(id=tenant, tenancy=Tenancy(registered_a_second=A_SECOND))


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

    def ends(self, *given, **named):
        if self.unavailable:
            raise Unavailable
        return super().ends(*given, **named)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def flow():
    return CountingFlow()


@pytest.fixture
def meter(flow, clock):
    return Meter(flow=flow, clock=clock, find=narrow)


def taken(meter, *, tenant="demo", items=1, most=10_000):
    """Number of registrations before the tenant is refused."""
    for count in range(0, most, items):
        try:
            meter.take(tenant, items)
        except QuotaExceeded:
            return count
    return most


def test_a_tenant_of_usual_size_costs_no_request(meter, flow, clock):
    for _ in range(100):
        for _ in range(FREE):
            meter.take("demo", 1)
        clock.move(WINDOW)
    assert flow.asked == 0


def test_beyond_that_it_is_one_request_for_250_items(meter, flow, clock):
    for _ in range(40):
        meter.take("demo", 100)
        clock.move(SECOND)
    assert flow.asked <= 40 * 100 / ALLOWANCE


@pytest.mark.parametrize("items", [1, 100])
def test_registrations_beyond_the_quota_are_refused(meter, items):
    assert SHARED <= taken(meter, items=items) <= SHARED + 2 * ALLOWANCE


def test_a_refusal_says_the_quota_and_its_window(meter):
    taken(meter)
    with pytest.raises(QuotaExceeded) as refused:
        meter.take("demo", 1)
    assert (refused.value.quota, refused.value.most, refused.value.window_seconds) == (
        "registered",
        SHARED,
        10,
    )


def test_copies_share_the_quota_beyond_what_each_has_free(flow, clock):
    copies = [Meter(flow=flow, clock=clock, find=narrow) for _ in range(4)]
    assert sum(taken(each, items=10) for each in copies) <= SHARED + 5 * ALLOWANCE


def test_as_time_passes_there_is_more_at_the_rate_of_the_quota(meter, clock):
    taken(meter)
    clock.move(60 * SECOND)
    again = taken(meter)
    assert SHARED <= again <= SHARED + 2 * ALLOWANCE


def test_another_tenant_has_a_quota_of_its_own(meter):
    taken(meter)
    assert taken(meter, tenant="other", most=500) == 500


def test_the_use_of_the_quota_is_told_by_each_copy_and_falls_with_time(meter, flow, clock):
    assert meter.used("demo") == 0
    meter.take("demo", 100)
    assert meter.used("demo") == 100
    for _ in range(6):
        meter.take("demo", 100)
    allowances = 2 * ALLOWANCE
    other_copy = Meter(flow=flow, clock=clock, find=narrow)
    assert meter.used("demo") == other_copy.used("demo") == allowances
    clock.move(SECOND)
    assert other_copy.used("demo") == allowances - A_SECOND
    clock.move(WINDOW)
    assert (meter.used("demo"), other_copy.used("demo")) == (0, 0)


def test_the_use_is_never_more_than_the_quota_and_is_told_without_the_table(meter, flow):
    taken(meter)
    assert ALLOWANCE <= meter.used("demo") <= SHARED
    flow.unavailable = True
    assert 0 <= meter.used("demo") <= SHARED


def test_nobody_is_refused_because_the_table_does_not_answer(meter, flow):
    flow.unavailable = True
    assert taken(meter, items=100) == 10_000


def suspended(tenant):
    return Tenant(id=tenant, tenancy=Tenancy(suspended_because="unpaid"))


def test_a_suspended_tenant_registers_nothing(flow, clock):
    meter = Meter(flow=flow, clock=clock, find=suspended)
    with pytest.raises(Forbidden, match="suspended, so registrations are refused: unpaid"):
        meter.take("demo", 1)


def test_a_tier_has_a_quota_unless_the_tenant_has_one_of_its_own():
    assert set(REGISTERED_A_SECOND_OF) == set(TIERS)
    assert Tenant(id="a").quota == REGISTERED_A_SECOND
    assert Tenant(id="a", tier="gold").quota > REGISTERED_A_SECOND
    assert Tenant(id="a", tier="gold", tenancy=Tenancy(registered_a_second=7)).quota == 7
