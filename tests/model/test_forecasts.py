"""Forecasts of large peaks and of days, each of which takes seconds: what the documents promise."""

from dataclasses import replace

import pytest

from infra.capacity import advice, forecast
from infra.environments import PROD, STAGING


@pytest.mark.parametrize("tenants", [1, 500_000])
def test_half_a_million_tasks_in_a_minute_begin_within_30_seconds_in_prod(tenants):
    found = forecast.tasks(PROD, due=500_000, tenants=tenants)
    assert found["lateness_p99_seconds"] < 30 / 3
    assert found["throttled_tries"] == 0
    assert found["sent_within_seconds"] < found["sent_ahead_seconds"]


def test_tables_as_aws_makes_them_are_minutes_late():
    found = forecast.tasks(forecast.as_new(PROD), due=200_000, tenants=8_000)
    assert found["lateness_p99_seconds"] > 60
    assert "partition writes" in [each["limit"] for each in found["reached"]]
    assert found["throttled_tries"] > 200_000


def test_350_payments_a_second_settle_within_a_second():
    for environment in (PROD, STAGING):
        found = forecast.payments(environment, rate=350, seconds=30)
        assert found["lateness_p99_seconds"] < 1
        assert found["from_nothing_p99_seconds"] < 1
        assert found["workers_at_once"] <= environment.functions["settle"].consumers


def test_ten_million_payments_a_day_settle_within_a_second():
    found = forecast.day(PROD, payments=10_000_000, peak=350)
    assert found["lateness_p99_seconds"] < 1
    assert found["worker_hours"] < 10_000_000 * 1.6 / 3600


def test_no_halved_limit_makes_a_peak_quicker_and_the_partition_matters_most():
    now = forecast.tasks(STAGING, due=40_000, tenants=40_000)["lateness_p99_seconds"]
    found = forecast.halved(STAGING, due=40_000, tenants=40_000, over=60)
    assert found
    assert all(late >= now * 0.98 for late in found.values())
    assert max(found, key=lambda name: found[name]) == "partition_writes"


def test_the_advice_names_the_quota_and_is_enough():
    quota = replace(PROD, warm_writes={"items": 40_000})
    now = forecast.tasks(quota, due=500_000, tenants=20_000)
    then = advice.advice(quota, now)
    assert then["raised_p99_seconds"] < 10 < now["lateness_p99_seconds"]
    (writes, *_) = then["raise"]
    assert writes["setting"] == "warm_writes of items"
    assert "--quota-code L-AB614373" in writes["request"]
