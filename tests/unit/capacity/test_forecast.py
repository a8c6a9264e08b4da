"""Forecasts of environments: what the documents promise, what breaks first, and which limits matter."""

import argparse
import json
from dataclasses import replace

import pytest

from cli.commands import capacity
from infra.capacity import advice, forecast, limits
from infra.capacity.calibration import COSTS
from infra.capacity.limits import LIMITS
from infra.capacity.rates import rates
from infra.capacity.setting import setting
from infra.environments import DEV, PROD, STAGING
from postdate.domain.slots import ShardPlan

PROVISIONED = replace(
    PROD, functions=dict(PROD.functions) | {"run_tasks": replace(PROD.functions["run_tasks"], pollers=10)}
)
SMALL = {"due": 20_000, "tenants": 20_000}


def test_the_hours_of_a_day_make_its_payments_and_its_peak():
    found = forecast.hours(10_000_000, 350)
    assert sum(found) * 3600 == pytest.approx(10_000_000)
    assert max(found) == pytest.approx(350, rel=0.02)
    with pytest.raises(ValueError, match="no such peak"):
        forecast.hours(10_000_000, 100)


def test_the_outcome_is_the_same_each_time():
    assert forecast.tasks(STAGING, **SMALL) == forecast.tasks(STAGING, **SMALL)


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_each_limit_reaches_a_forecast(name):
    """A limit that no forecast reads would tell nothing if it were wrong."""
    if name == "gateway":
        assert limits.GATEWAY.value > 0
        assert rates(DEV, payments=1_000_000, peak=350)["lines"][0]["fits"] is False
        return
    unbound = replace(
        PROD,
        warm_writes={},
        functions={
            key: replace(size, reserved=None, consumers=9_999) for key, size in PROD.functions.items()
        },
    )
    stated = limits.stated()
    less = stated | {name: stated[name] / 2_000}
    found = [
        setting(environment, "run_tasks", stated) != setting(environment, "run_tasks", less)
        for environment in (PROD, PROVISIONED, DEV, unbound)
    ]
    assert any(found), f"{name} is read by no forecast"


def test_each_limit_and_each_cost_names_its_source():
    assert all(each.source and each.unit and each.read for each in LIMITS.values())
    assert all(
        each.basis.split()[0].rstrip(",") in {"measured", "counted", "assumed", "assumed;"}
        for each in COSTS.values()
    )
    assert all(" at " in each.basis for each in COSTS.values() if each.basis.startswith("measured"))


def test_a_known_instant_needs_more_shards_before_more_write_units():
    told = {"reached": [{"limit": "partition writes"}], "due": 500_000, "over_seconds": 0}
    then, (shards,) = advice.raised(PROD, told)
    assert (shards.now, shards.then, shards.quota) == ("128", "1024", "")
    assert (then.shards, then.warm_writes["items"]) == (1_024, 100_000)
    with pytest.raises(ValueError, match="a shard plan"):
        ShardPlan.parse(f"0={advice._SHARDS_MAX + 1}")


def test_nothing_is_raised_when_nothing_is_in_the_way():
    told = {"reached": [], "due": 1, "over_seconds": 60, "lateness_p99_seconds": 0.04}
    assert advice.raised(PROD, told) == (PROD, [])


def test_the_peak_of_a_day_fits_in_prod():
    found = rates(PROD, payments=10_000_000, peak=350)
    assert all(line["fits"] for line in found["lines"])
    assert {
        "name": "writes of accounts",
        "need": 2_102,
        "has": 4_000,
        "unit": "units a second",
        "fits": True,
    } in (found["lines"])


def test_the_command_tells_the_lateness_for_people_and_for_programs():
    parser = argparse.ArgumentParser()
    capacity.arguments(parser)
    given = ["--env", "staging", "--due", "20000", "--tenants", "200", "--payments", "20", "--day", "900000"]
    answer = capacity.run(parser.parse_args([*given, "--halved", "--apply"]))
    assert json.loads(json.dumps(answer))["lateness_p99_seconds"] == answer["lateness_p99_seconds"]
    shown = capacity.show(answer)
    assert f"p99 {answer['lateness_p99_seconds']} s" in shown
    assert "p99 if halved" in shown
    assert shown.splitlines()[-1].startswith("#")
