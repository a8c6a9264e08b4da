"""The cases of a run, one after the other on one bed."""

import os
import platform
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Final, TypeAlias

from bench import bed
from bench.burst import burst
from bench.cold import cold
from bench.isolation import isolation
from bench.lists import lists
from bench.memory import memory
from bench.overview import overview
from bench.payment_burst import payments_hot, payments_spread
from bench.payment_steady import payments_steady
from bench.plan import Plan
from bench.recorder import recorder
from bench.register import register
from bench.report import Line
from bench.steady import steady
from bench.tenants import tenants
from bench.units import units
from cli.progress import say

BUSY: Final = 0.5

Case: TypeAlias = Callable[[bed.Bed, Plan], Iterator[Line]]
CASES: Final[Mapping[str, Case]] = {
    "register": register,
    "overview": overview,
    "burst": burst,
    "tenants": tenants,
    "payments-spread": payments_spread,
    "payments-hot": payments_hot,
    "steady": steady,
    "payments-steady": payments_steady,
    "recorder": recorder,
    "lists": lists,
    "isolation": isolation,
    "cold": cold,
    "memory": memory,
    "units": units,
}


def run(plan: Plan, chosen: list[str]) -> Generator[Line, None, None]:
    """Each line as soon as it is known. The stack goes when the last one is taken, or the caller stops taking."""
    yield _machine()
    with bed.made() as ready:
        for name in chosen:
            say(f"{name}:")
            yield from CASES[name](ready, plan)


def _machine() -> Line:
    """Description of the machine behind the figures, and its load before the run."""
    load = os.getloadavg()[0]
    if load > BUSY:
        say(f"This machine is not idle (load {load:.1f}): what follows measures that too.")
    what = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return {"case": "machine", "what": what, "cores": os.cpu_count(), "load_before": round(load, 2)}
