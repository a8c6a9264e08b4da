"""The model agrees with results that can be worked out by hand, and the environments hold what the documents say."""

from dataclasses import replace

import pytest

from cli.commands import capacity
from infra.capacity import forecast, limits
from infra.capacity.limits import Limit
from infra.capacity.load import Message, peak, steady
from infra.capacity.model import Fleet, Work, run
from infra.environments import PROD, STAGING

AT_ONCE = Fleet(first=10, added=1, most=10)
NO_TIME = Work(cold_start=0.0, a_batch=0.0, an_item=0.0, units=2.0)
TENANTS = 1_000


def waiting(count, *, items=1):
    return [Message(visible_at=-1.0, due_at=0.0, items=items) for _ in range(count)]


def test_a_table_of_4000_units_does_2000_tasks_a_second():
    found = run(waiting(8_000), fleet=AT_ONCE, work=NO_TIME, writes=4_000)
    assert (found.items, found.ended_at) == (8_000, pytest.approx(4.0))
    assert found.percentile(0.5) == pytest.approx(2.0, rel=0.01)


def test_workers_join_as_the_mapping_adds_them():
    """The sixth worker joins a fifth of a second after the first five."""
    work = replace(NO_TIME, a_batch=1.0)
    fleet = Fleet(first=5, added=5, most=6, batch=1)
    found = run([Message(visible_at=0.0, due_at=0.0, items=1)] * 6, fleet=fleet, work=work, writes=1e9)
    assert sorted(late for late, _ in found.lateness) == [pytest.approx(1.0)] * 5 + [pytest.approx(1.2)]
    assert (found.at_once, found.invocations, found.busy_seconds) == (6, 6, pytest.approx(6.0))


def test_a_cold_start_is_paid_once_a_worker():
    work = replace(NO_TIME, cold_start=2.0)
    messages = [Message(visible_at=float(at), due_at=float(at), items=1) for at in (0, 5)]
    found = run(messages, fleet=Fleet(first=1, added=1, most=1), work=work, writes=1e9)
    assert [late for late, _ in found.lateness] == [pytest.approx(2.0), pytest.approx(0.0, abs=1e-6)]


@pytest.mark.parametrize("messages", [peak(3_000, tenants=7), steady(50, 20)])
def test_each_item_is_done_once_and_none_early(messages):
    found = run(messages, fleet=AT_ONCE, work=NO_TIME, writes=1e9)
    assert found.items == sum(message.items for message in messages)
    assert min(late for late, _ in found.lateness) >= 0


def test_a_tenants_packets_beyond_the_first_250_tasks_arrive_at_the_instant():
    messages = peak(1_000, tenants=1)
    ahead = [message for message in messages if message.visible_at < 0]
    assert (sum(message.items for message in ahead), len(messages)) == (250, 40)


@pytest.mark.parametrize("tenants", [1_000, 50_000])
def test_no_halved_limit_makes_a_peak_quicker(tenants):
    found = forecast.tasks(STAGING, due=50_000, tenants=tenants)
    # The last items of a peak may share batches in another way.
    assert all(late >= found["lateness_p99_seconds"] * 0.98 for late in found["if_halved"].values())
    assert found["if_halved"]["write units of the table"] > found["lateness_p99_seconds"] * 1.5
    assert found["raise"][0].startswith("warm_writes")


def test_half_a_million_tasks_of_a_thousand_tenants_begin_within_30_seconds_in_prod():
    found = forecast.tasks(PROD, due=500_000, tenants=TENANTS)
    assert found["lateness_p99_seconds"] < 30
    cold = forecast.tasks(replace(PROD, warm_writes={}), due=500_000, tenants=TENANTS)
    assert cold["lateness_p99_seconds"] > 240
    assert cold["throttled_share"] > 0.9


def test_350_payments_a_second_settle_within_a_second_in_prod():
    found = forecast.payments(PROD, rate=350, seconds=30)
    assert found["lateness_p99_seconds"] < 1
    assert found["workers_at_once"] <= PROD.functions["settle"].consumers


def test_the_warm_throughput_of_a_table_stays_within_its_quota():
    for environment in (PROD, STAGING):
        assert all(writes <= limits.TABLE_WRITES_MAX.value for writes in environment.warm_writes.values())


def test_each_limit_names_its_source_and_month():
    stated = [each for each in vars(limits).values() if isinstance(each, Limit)]
    assert stated
    assert all(each.source and each.unit and each.read for each in stated)


def test_the_command_tells_the_lateness_for_people_and_for_programs():
    answer = forecast.tasks(STAGING, due=100, tenants=10) | {
        "payments": forecast.payments(STAGING, rate=5, seconds=5)
    }
    assert f"p99 {answer['lateness_p99_seconds']} s" in capacity.show(answer)
