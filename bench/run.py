"""The cases of a run, one after the other on one bed."""

import os
import platform
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from bench import bed
from bench.burst import burst
from bench.cold import cold
from bench.deploy import deploy
from bench.isolation import isolation
from bench.lists import lists
from bench.memory import memory
from bench.overview import overview
from bench.payment_burst import payments_hot, payments_spread
from bench.payment_steady import payments_steady
from bench.peak import peak
from bench.plan import Plan
from bench.recorder import recorder
from bench.register import register
from bench.report import Line
from bench.steady import steady
from bench.stored import stored
from bench.tenants import tenants
from bench.units import units
from cli.progress import say

BUSY: Final = 0.5

Measure: TypeAlias = Callable[[bed.Bed, Plan], Iterator[Line]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """`seconds` is the time of the case with the usual plan on two idle cores, as far as it is known. A case that is
    `asked` is no part of the whole run."""

    measure: Measure
    seconds: int
    asked: bool = False


CASES: Final[Mapping[str, Case]] = {
    "register": Case(measure=register, seconds=25),
    "overview": Case(measure=overview, seconds=40),
    "burst": Case(measure=burst, seconds=45),
    "tenants": Case(measure=tenants, seconds=150),
    "payments-spread": Case(measure=payments_spread, seconds=90),
    "payments-hot": Case(measure=payments_hot, seconds=80),
    "steady": Case(measure=steady, seconds=55),
    "payments-steady": Case(measure=payments_steady, seconds=145),
    "peak": Case(measure=peak, seconds=140),
    "deploy": Case(measure=deploy, seconds=110),
    "recorder": Case(measure=recorder, seconds=400, asked=True),
    "lists": Case(measure=lists, seconds=70, asked=True),
    "isolation": Case(measure=isolation, seconds=280, asked=True),
    "cold": Case(measure=cold, seconds=25),
    "memory": Case(measure=memory, seconds=15),
    "stored": Case(measure=stored, seconds=160),
    "units": Case(measure=units, seconds=60),
}
WHOLE: Final = [name for name, case in CASES.items() if not case.asked]
STACK_SECONDS: Final = 40


def run(plan: Plan, chosen: list[str]) -> Generator[Line, None, None]:
    """Each line as soon as it is known. The stack goes when the last one is taken, or the caller stops taking."""
    yield _machine()
    began = time.monotonic()
    with bed.made() as ready:
        for number, name in enumerate(chosen, 1):
            say(f"{name} ({number} of {len(chosen)}, about {CASES[name].seconds} s):")
            case_began = time.monotonic()
            yield from CASES[name].measure(ready, plan)
            now = time.monotonic()
            say(f"{name} took {now - case_began:.0f} s, all so far {now - began:.0f} s.")


def _machine() -> Line:
    """Description of the machine behind the figures, and its load before the run."""
    load = os.getloadavg()[0]
    if load > BUSY:
        say(f"This machine is not idle (load {load:.1f}): what follows measures that too.")
    what = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return {"case": "machine", "what": what, "cores": os.cpu_count(), "load_before": round(load, 2)}
