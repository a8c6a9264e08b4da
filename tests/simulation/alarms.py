"""The alarms over what the simulation emits. `python -m tests.simulation.alarms` runs each scenario and prints, as
JSON, which alarms fired and how many seconds after the fault began, and which series had samples.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from infra.environments import ENVIRONMENTS
from infra.watch.evaluate import State, Watch, judged
from infra.watch.table import alarms, composites
from tests.simulation import checkers
from tests.simulation.hub import SECOND
from tests.simulation.meter import Meter
from tests.simulation.mix import Mix
from tests.simulation.run import Run
from tests.simulation.scenarios import HEALTHY, SCENARIOS, SETS_IN_AFTER, OfAws, Scenario

# Before this much has passed, an alarm on missing data would fire over what was before the run.
_HISTORY: Final = 6 * 60
_SEED: Final = 7
_STEPS_MAX: Final = 2_000_000


class _Over(Exception):
    pass


@dataclass(kw_only=True, slots=True, eq=False)
class _Watched(Run):
    """Goes on for a while after its script. One that is not drained is over then."""

    goes_on: int = 0
    drained: bool = True

    def _begin_to_rest(self) -> None:
        self.hub.run(lambda: False, deadline=self.hub.now + self.goes_on)
        if not self.drained:
            raise _Over


@contextmanager
def _unchecked() -> Iterator[None]:
    kept = checkers.STEP, checkers.AT_THE_END
    checkers.STEP = checkers.AT_THE_END = ()
    try:
        yield
    finally:
        checkers.STEP, checkers.AT_THE_END = kept


def observed(scenario: Scenario) -> dict[str, Any]:
    """The alarms that fired, with the seconds after the fault set in, and the names of all series with samples."""
    environment = ENVIRONMENTS[scenario.environment]
    run = _Watched(
        seed=_SEED,
        mix=scenario.begins,
        script=scenario.script,
        goes_on=scenario.goes_on,
        drained=scenario.drained,
    )
    run.hub.steps_max = _STEPS_MAX
    meter = Meter(run, environment)

    def sets_in(mix: Mix, faults: OfAws) -> None:
        run.mix = run.wire.mix = mix
        run.functions._left_to_lose = mix.lost
        meter.faults = faults
        run.hub.stirred = True

    run.hub.after(SETS_IN_AFTER, lambda: sets_in(scenario.mix, scenario.of_aws))
    run.hub.after(SETS_IN_AFTER + scenario.lasts, lambda: sets_in(HEALTHY, OfAws()))
    with meter.metering(), nullcontext() if scenario.checked else _unchecked():
        result = run.result()
    broken = None if (result.broken or "").startswith("_Over") else result.broken
    if broken and scenario.checked:
        raise SystemExit(f"{scenario.name}: {broken}")
    watch = Watch(judged(alarms(environment), seconds=_HISTORY), composites(environment))
    watch.states = dict.fromkeys(watch.states, State.OK)
    began, ended = run.hub.began // SECOND, run.hub.now // SECOND
    for at in range(began + _HISTORY, ended + 60, 60):
        watch.look(meter.samples, at=at - at % 60)
    since = began + SETS_IN_AFTER // SECOND
    return {
        "fired": {name: at - since for name, at in watch.fired.items()},
        "series": sorted({" ".join((name, *(value for _, value in of))) for _, name, of in meter.samples.of}),
    }


def main() -> int:
    only = sys.argv[1:]
    found = {each.name: observed(each) for each in SCENARIOS if not only or each.name in only}
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
