"""Alarms fire in the fault they are for, and stay quiet in a night, a peak and a deployment: on what the functions emit
in the simulation."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from infra.environments import ENVIRONMENTS, PROD
from infra.watch.alarm import Alarm
from infra.watch.table import alarms, composites
from tests.simulation.scenarios import SCENARIOS, Scenario

# CloudWatch's own delay is not counted; a share needs some traffic first.
_TRAFFIC_SECONDS: Final = 300
_PARTS: Final = 4
# The nightly reconciliation, erasures and other machines than that of operations are no part of the simulation:
# `tests/integration/test_reconcile.py`, `test_erasure.py` and `test_recover_machine.py` run them.
_OUTSIDE: Final = {
    *("errors_erase", "errors_reconcile", "reconciliation_differs", "reconciliation_missing"),
    "executions_failed",
}
_QUIET: Final = {"an idle night", "a peak", "a deployment"}


def within(scenario: Scenario, name: str) -> float:
    environment = ENVIRONMENTS[scenario.environment]
    own = {each.name: each.fires_within for each in alarms(environment)}
    made = {each.name: max(own.get(part, 0) for part in each.parts) for each in composites(environment)}
    return (own | made)[name] + scenario.after + _TRAFFIC_SECONDS


@pytest.fixture(scope="session")
def observed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Processes of one run of the tests share a folder."""
    own = tmp_path_factory.getbasetemp()
    return _Observed(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


class _Observed(dict[str, dict[str, Any]]):
    """Each scenario is run once, whichever process of the tests asks first. Scenarios run in processes of their own:
    the simulation takes the place of the clock and of AWS."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, name: str) -> dict[str, Any]:
        names = [each.name for each in SCENARIOS]
        part = names.index(name) % _PARTS
        path = self._folder / f"alarms-{part}.json"
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                asked = [sys.executable, "-m", "tests.simulation.alarms", *names[part::_PARTS]]
                ran = subprocess.run(asked, capture_output=True, text=True, check=False)
                assert ran.returncode == 0, ran.stderr[-4000:]
                path.write_text(ran.stdout, encoding="utf-8")
        self.update(json.loads(path.read_text(encoding="utf-8")))
        return self[name]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_alarms_of_a_scenario_fire_in_their_time_and_no_others(
    scenario: Scenario, observed: dict[str, dict[str, Any]]
) -> None:
    fired = observed[scenario.name]["fired"]
    assert scenario.fires <= fired.keys()
    assert fired.keys() <= scenario.fires | scenario.may
    for name in scenario.fires:
        # A fault that sets in within a minute may be seen a minute early.
        assert 0 <= fired[name] <= within(scenario, name), name


def test_each_alarm_has_a_fault_in_which_it_fires_and_three_runs_in_which_it_is_quiet() -> None:
    """An alarm that no fault of the simulation reaches is missing here."""
    names = {each.name for each in (*alarms(PROD), *composites(PROD))} - _OUTSIDE
    assert names == {name for scenario in SCENARIOS for name in scenario.fires}
    assert {each.name for each in SCENARIOS if not each.fires | each.may} == _QUIET


@pytest.mark.parametrize(
    "alarm", [each for each in alarms(PROD) if each.name not in _OUTSIDE], ids=lambda alarm: alarm.name
)
def test_the_series_of_an_alarm_have_samples(alarm: Alarm, observed: dict[str, dict[str, Any]]) -> None:
    """A fault in which the alarm fires makes samples of its metrics. Of a table and its indexes one is enough."""
    scenario = next(each for each in SCENARIOS if alarm.name in each.fires)
    of_scenario = {each.name: each for each in alarms(ENVIRONMENTS[scenario.environment])}[alarm.name]
    series = observed[scenario.name]["series"]
    wanted = {
        " ".join((each.name, *(value for _, value in each.dimensions)))
        for each in of_scenario.series.values()
    }
    assert wanted & set(series) if alarm.runbook == "throttled" else wanted <= set(series)
