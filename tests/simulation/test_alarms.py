"""Alarms fire in the fault they are for, and stay quiet in a night, a peak and a deployment: on what the functions emit
in the simulation."""

import json
import subprocess
import sys
from functools import cache
from typing import Final

import pytest

from infra.environments import PROD
from infra.watch.table import alarms, composites
from tests.simulation.scenarios import SCENARIOS, Scenario

# CloudWatch's own delay is not counted; a share needs some traffic first.
_TRAFFIC_SECONDS: Final = 300
_OWN: Final = {each.name: each.fires_within for each in alarms(PROD)}
WITHIN: Final = _OWN | {each.name: max(_OWN.get(part, 0) for part in each.parts) for each in composites(PROD)}


@cache
def observed() -> dict[str, dict[str, float]]:
    """In a process of its own: the simulation takes the place of the clock and of AWS."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.simulation.alarms"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    found: dict[str, dict[str, float]] = json.loads(ran.stdout)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_alarms_of_a_scenario_fire_and_no_others(scenario: Scenario) -> None:
    fired = observed()[scenario.name]
    assert scenario.fires <= fired.keys()
    assert fired.keys() <= scenario.fires | scenario.may


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_an_alarm_fires_within_its_time(scenario: Scenario) -> None:
    fired = observed()[scenario.name]
    for name in scenario.fires:
        # A fault that sets in within a minute may be seen a minute early.
        assert 0 <= fired[name] <= WITHIN[name] + scenario.after + _TRAFFIC_SECONDS, name
