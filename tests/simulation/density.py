"""The density of planted mistakes: in how many runs of its theme a mistake shows.

A seed that shows a mistake is lost with the next change of the code. Another one is soon found only if many show it.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tests.simulation.batch import FORK, Sort, begin, run_one
from tests.simulation.mistakes.bug import Bug
from tests.simulation.planted import BUGS, planted, prepared


@dataclass(frozen=True, kw_only=True, slots=True)
class Density:
    """`seeds` are those whose runs of the sort show the mistake, among the first `runs`."""

    bug: Bug
    sort: Sort
    runs: int
    seeds: tuple[int, ...]

    @property
    def is_sparse(self) -> bool:
        """True if the mistake needs a denser theme."""
        return 10 * len(self.seeds) < self.runs

    @property
    def line(self) -> str:
        sparse = "  SPARSE" if self.is_sparse else ""
        return f"{len(self.seeds):>4} of {self.runs}  {self.bug.name} ({self.sort.name}){sparse}"


def densities(only: str, runs: int, jobs: int) -> Sequence[Density]:
    """Counts in how many runs each mistake shows, of those with this text in their names and no test of their own."""
    prepared()
    names = [bug.name for bug in BUGS if only in bug.name and bug.test is None]
    with ProcessPoolExecutor(jobs, mp_context=FORK, initializer=begin) as pool:
        return list(pool.map(_density, names, [runs] * len(names)))


def _density(name: str, runs: int) -> Density:
    (bug,) = (each for each in BUGS if each.name == name)
    sort = Sort(theme=bug.mix, short=bug.short)
    with planted(bug):
        seeds = tuple(seed for seed in range(runs) if run_one(seed, sort).broken)
    return Density(bug=bug, sort=sort, runs=runs, seeds=seeds)
