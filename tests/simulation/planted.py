"""Mistakes planted into the code in memory, one at a time: a simulation that does not find them would find no others.

Each is a place in the code and what stands there instead. A text that is not there any more, once and only once, is an
error: a mistake that no longer applies proves nothing. Some are covered by a neighbouring rule and come in pairs.

Some show seldom in runs of all sorts. These are looked for in runs of the sort in which they show, and in all sorts
only if that finds nothing. The four that nothing may hide, which say so in their names, are looked for in all sorts.
"""

import importlib
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests.simulation.mistakes import (
    attempts,
    dependencies,
    events,
    flow_control,
    leases,
    loops,
    money,
    operations,
    owners,
    quotas,
    receivers,
    recovering,
    recurring,
    registration,
    restricted,
    sweeping,
    switches,
    versions,
    workers,
)
from tests.simulation.mistakes.bug import Bug, Patch
from tests.simulation.shrink import check_of

BUGS: Final = (
    *leases.BUGS,
    *attempts.BUGS,
    *sweeping.BUGS,
    *registration.BUGS,
    *money.BUGS,
    *recurring.BUGS,
    *flow_control.BUGS,
    *workers.BUGS,
    *versions.BUGS,
    *receivers.BUGS,
    *operations.BUGS,
    *recovering.BUGS,
    *events.BUGS,
    *switches.BUGS,
    *loops.BUGS,
    *quotas.BUGS,
    *dependencies.BUGS,
    *owners.BUGS,
    *restricted.BUGS,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The run that showed a mistake: its `mix` and `seed`, and the invariant that did not hold, or None if all held.
    `runs` counts the tries. There is no seed if a test shows the mistake."""

    bug: Bug
    mix: str
    seed: int | None
    runs: int
    broken: str | None

    @property
    def check(self) -> str:
        return self.bug.test or check_of(self.broken or "")


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    kept = [(function, function.__code__) for function, _ in _changes(bug)]
    try:
        for function, code in _changes(bug):
            function.__code__ = code
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


def prepared() -> None:
    """Reads all mistakes from the code as it is now. Raises LookupError if one of them does not apply."""
    for bug in BUGS:
        applies(bug)


def applies(bug: Bug) -> bool:
    """True if the mistake changes the code. Raises LookupError if its text does not stand there exactly once."""
    return all(function.__code__ != code for function, code in _changes(bug))


def page(found: Sequence[Found]) -> str:
    """docs/planted.md"""
    lines = [
        "# Planted mistakes",
        "",
        "Written by `postdate-sim --planted N --write`; `make prove` plants all of them. Each mistake is put into the",
        "code in memory, and the run of its seed must break an invariant. If that run holds, as after a change of the",
        "code, the seeds from 0 to N run until one breaks. The checkers of the invariants are in",
        "`tests/simulation/checkers.py`. A mistake without a seed shows in the simulation too seldom, or no run has",
        "its code: the test that it names must fail while the mistake is in the code. A mistake shows in one of ten",
        "runs of its theme at least, or it gets a denser theme ([175.](decisions/0175-mistakes-by-density.md));",
        "`postdate-sim --density N` counts.",
        "",
        f"{len(found)} mistakes, {sum(each.broken is None for each in found)} missed.",
        "",
        "| mistake | runs | seed | caught by |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {each.bug.name} | {each.mix} | {'-' if each.seed is None else each.seed} "
        f"| {each.check if each.broken else '**nothing**'} |"
        for each in found
    ]
    return "\n".join(lines) + "\n"


def seeds_in(page: str) -> dict[str, int]:
    """The seed of each mistake that the page tells."""
    rows = (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| "))
    return {name: int(seed) for name, _, seed, _ in rows if seed.isdigit()}


@cache
def _changes(bug: Bug) -> list[tuple[Any, Any]]:
    return [
        (_function(place), _changed(_function(place), [each for each in bug.patches if each.place == place]))
        for place in dict.fromkeys(patch.place for patch in bug.patches)
    ]


def _function(place: str) -> Any:
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = inspect.getattr_static(found, name)
    return getattr(found, "__func__", found)


def _changed(function: Any, patches: Sequence[Patch]) -> Any:
    """The code as planted. The function stays the same object, so references to it stay right."""
    source = textwrap.dedent(inspect.getsource(function))
    for patch in patches:
        if source.count(patch.old) != 1:
            raise LookupError(f"{patch.place}: {patch.old!r} stands there {source.count(patch.old)} times")
        source = source.replace(patch.old, patch.new)
    made: dict[str, Any] = {}
    exec(compile(source, f"<{patches[0].place}>", "exec"), function.__globals__, made)  # noqa: S102
    changed = made[function.__name__]
    return getattr(changed, "__func__", changed).__code__
