"""Many runs side by side: what they found and reached together, told as it comes, and also when it is broken off."""

import gc
import multiprocessing
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.simulation.mix import Mix
    from tests.simulation.run import Result

FORK: Final = multiprocessing.get_context("fork")
_CHUNK: Final = 10
_TOLD_EVERY: Final = 60.0
_AHEAD: Final = 4
# Most of what a run makes is gone by itself when it ends; looking for the rest as often as usual costs a tenth.
_COLLECTED_AFTER: Final = 50_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Sort:
    """Sort of runs: `theme` is a name of `themes`, or one mix in `given`, as text, is for all of them."""

    theme: str | None = None
    short: bool = False
    given: str | None = None

    @property
    def name(self) -> str:
        return (self.theme or "all sorts") + (", short" if self.short else "")

    @property
    def options(self) -> str:
        if self.given is not None:
            return f" --given '{self.given}'"
        return (f" --mix '{self.theme}'" if self.theme else "") + (" --short" if self.short else "")


@dataclass(kw_only=True, slots=True)
class Told:
    """The findings of some runs together; `broken` are the seeds that found something, with what they found. `reach`
    counts how often each situation was reached, `runs_with` in how many runs."""

    seeds: int = 0
    calls: int = 0
    seconds: float = 0.0
    reach: Counter[str] = field(default_factory=Counter)
    runs_with: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: "Told") -> None:
        self.seeds += other.seeds
        self.calls += other.calls
        self.seconds += other.seconds
        self.broken += other.broken
        self.runs_with += other.runs_with
        for name, times in other.reach.items():
            known = self.reach[name]
            self.reach[name] = max(known, times) if "most" in name else known + times

    @property
    def faults(self) -> int:
        return sum(times for name, times in self.reach.items() if name.startswith("fault "))


def mix_for(seed: int, sort: Sort) -> "Mix":
    from tests.simulation.drawing import drawn, short, themed
    from tests.simulation.shrink import mix_of

    if sort.given is not None:
        return mix_of(sort.given)
    if sort.short:
        return short(Random(seed), sort.theme)
    return drawn(Random(seed)) if sort.theme is None else themed(Random(seed), sort.theme)


def run_one(seed: int, sort: Sort) -> "Result":
    from tests.simulation.run import run

    return run(seed, mix_for(seed, sort))


def run_all(seeds: Sequence[int], sort: Sort, jobs: int) -> tuple[Told, bool]:
    """Returns the findings of the runs, and whether all of them were made: a batch that is broken off tells what it
    has."""
    import tests.simulation.run  # noqa: F401 - once, before the processes part: all of them run the same code

    whole, progress = Told(), _Progress(count=len(seeds), began=time.monotonic())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pool = ProcessPoolExecutor(jobs, mp_context=FORK, initializer=begin)
    try:
        for part in _parts(pool, seeds, sort, jobs):
            whole.add(part)
            for seed, broken in part.broken:
                print(
                    f"seed {seed}: {broken[:600]}\n  again: postdate-sim --replay {seed}{sort.options}",
                    flush=True,
                )
            progress.tell(whole)
    except KeyboardInterrupt:
        print("broken off", file=sys.stderr, flush=True)
    except BrokenProcessPool as error:
        print(f"a process ended by itself: {error}", file=sys.stderr, flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    return whole, whole.seeds == len(seeds)


def _parts(pool: ProcessPoolExecutor, seeds: Sequence[int], sort: Sort, jobs: int) -> Iterator[Told]:
    """No more is given out than keeps all processes at work: what waits would only take room."""
    chunks, given = _chunks(seeds), set[Future[Told]]()
    for chunk in islice(chunks, _AHEAD * jobs):
        given.add(pool.submit(_some, chunk, sort))
    while given:
        done, given = wait(given, return_when=FIRST_COMPLETED)
        for chunk in islice(chunks, len(done)):
            given.add(pool.submit(_some, chunk, sort))
        for each in done:
            yield each.result()


@dataclass(kw_only=True, slots=True)
class _Progress:
    """Told when the first part is done, and then each minute."""

    count: int
    began: float
    next_at: float = 0.0

    def tell(self, whole: Told) -> None:
        now = time.monotonic()
        if now < self.next_at:
            return
        self.next_at = now + _TOLD_EVERY
        rate = whole.seeds / (now - self.began)
        left = (self.count - whole.seeds) / rate / 60
        print(
            f"{whole.seeds} of {self.count} seeds, {len(whole.broken)} broken, {rate:.1f} a second, "
            f"{left:.0f} minutes left",
            file=sys.stderr,
            flush=True,
        )


def begin() -> None:
    """Prepares a process for its work. An interrupt ends the process that gave the work, which waits for what was
    begun."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)


def _some(seeds: Sequence[int], sort: Sort) -> Told:
    told = Told()
    for seed in seeds:
        result = run_one(seed, sort)
        broken = [] if result.broken is None else [(seed, result.broken)]
        runs_with = Counter({name: 1 for name, times in result.reach.items() if times})
        told.add(
            Told(
                seeds=1,
                calls=result.calls,
                seconds=result.seconds,
                reach=result.reach,
                runs_with=runs_with,
                broken=broken,
            )
        )
    return told


def in_any_order(seeds: Sequence[int], sort: Sort) -> list[int]:
    """The seeds whose runs differ, to the byte, between this order of all runs in one process and its reverse."""
    first = {seed: _digest(run_one(seed, sort)) for seed in seeds}
    again = {seed: _digest(run_one(seed, sort)) for seed in reversed(seeds)}
    return [seed for seed in seeds if first[seed] != again[seed]]


def _digest(result: "Result") -> str:
    return sha256("\n".join([*result.lines, str(result.broken)]).encode()).hexdigest()


def _chunks(seeds: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(seeds), _CHUNK):
        yield seeds[start : start + _CHUNK]
