"""`postdate-sim`: runs of the simulation by their seeds, side by side; or one of them again, told line by line."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.simulation.batch import FORK, Sort, begin, in_any_order, mix_for, run_all, run_one

if TYPE_CHECKING:
    from tests.simulation.planted import Found

_PLANTED_PAGE: Final = Path("docs/planted.md")
# The parts of one flow, so that no process is left with the longest flow alone.
_PARTS: Final = 4
# So many runs of a sort reach every situation that a run of it may reach.
_REACHES_ALL: Final = {Sort(): 2_000, Sort(short=True): 20_000}


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    _with_a_fixed_order_of_sets()
    sort = Sort(theme=given.mix, short=given.short, given=given.given)
    with _planting(given.planting):
        return _asked(given, sort)


def _asked(given: argparse.Namespace, sort: Sort) -> int:
    if given.replay is not None:
        return _replay(given.replay, given.after, sort)
    if given.orders:
        return _in_any_order(_seeds(given.orders), sort)
    if given.kept:
        return _kept()
    if given.shrink is not None:
        return _shrink(given.shrink, sort)
    if given.single:
        return _single(given.jobs, given.only, given.write)
    if given.density:
        return _density(given.density, given.jobs, given.only)
    if given.planted:
        return _planted(given.planted, given.jobs, given.only, given.write, given.short)
    return _batch(_seeds(given.seeds), given.jobs, given.reach, sort)


def _seeds(text: str) -> list[int]:
    """`0:2000`, or `2,44,107`, or both."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition(":")
        found += range(int(first), int(last) if last else int(first) + 1)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="postdate-sim", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seeds", metavar="A:B,C", help="run the seeds from A up to B, and C")
    what.add_argument("--replay", metavar="SEED", type=int, help="run one seed and tell what happens in it")
    what.add_argument(
        "--planted",
        metavar="N",
        type=int,
        help="plant each known mistake and find it: by the seed that found it last, or within N",
    )
    what.add_argument(
        "--density",
        metavar="N",
        type=int,
        help="plant each known mistake and tell in how many of N runs it shows",
    )
    what.add_argument(
        "--orders",
        metavar="A:B,C",
        help="run the seeds in one process, in this order and in reverse, and compare",
    )
    parser.add_argument(
        "--after",
        metavar="A:B",
        default="0:0",
        help="with --replay: run these seeds first, in the same process",
    )
    what.add_argument(
        "--shrink", metavar="SEED", type=int, help="make a broken run small: the least that breaks it as well"
    )
    what.add_argument("--kept", action="store_true", help="what is kept of runs that were broken once")
    what.add_argument("--single", action="store_true", help="each kind of fault at each call of each flow")
    parser.add_argument(
        "--write",
        action="store_true",
        help="with --single: write docs/faults.md; with --planted: docs/planted.md",
    )
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="of mistakes and flows, those with this in their name"
    )
    parser.add_argument(
        "--mix",
        metavar="NAME",
        help="with --seeds and --replay: runs of one sort only, as themes/ names them",
    )
    parser.add_argument(
        "--given", metavar="MIX", help="with --seeds, --replay and --shrink: what --shrink has told"
    )
    parser.add_argument(
        "--planting", metavar="NAME", help="with --seeds, --replay and --shrink: this mistake is in the code"
    )
    parser.add_argument(
        "--short",
        action="store_true",
        help="short runs: a few requests within half a minute and the same faults, but no waits of more than some "
        "minutes, no clocks that are far off, no long outages, one sweeper",
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="processes (all cores)")
    parser.add_argument(
        "--reach",
        action="store_true",
        help="tell which situations were reached, how often and in how many runs",
    )
    return parser


def _with_a_fixed_order_of_sets() -> None:
    """Python draws the order of its sets anew for each process, unless it is told not to."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606


def _replay(seed: int, after: str, sort: Sort) -> int:
    for earlier in _seeds(after):
        run_one(earlier, sort)
    result = run_one(seed, sort)
    print("\n".join(result.lines))
    print(f"seed {seed}: {result.broken or 'all invariants hold'}")
    return 1 if result.broken else 0


def _in_any_order(seeds: Sequence[int], sort: Sort) -> int:
    differ = in_any_order(seeds, sort)
    for seed in differ:
        print(f"seed {seed}: depends on the runs before it{sort.options}")
    print(f"{len(seeds)} seeds in two orders, {len(differ)} differ")
    return 1 if differ else 0


def _shrink(seed: int, sort: Sort) -> int:
    from tests.simulation.run import run
    from tests.simulation.shrink import shrunk, text_of

    first = run_one(seed, sort)
    if first.broken is None:
        print(f"seed {seed}: all invariants hold")
        return 1
    small = shrunk(seed, mix_for(seed, sort), run)
    print("\n".join(small.result.lines))
    print(f"seed {small.seed}: {small.result.broken}")
    print(f"{len(first.lines)} lines made {len(small.result.lines)}, in {small.tried} runs")
    print(f"again: postdate-sim --replay {small.seed}{Sort(given=text_of(small.mix)).options}")
    return 0


def _kept() -> int:
    """Each with its mistake until it breaks, and the same seeds without."""
    from tests.simulation.kept import KEPT, SEEDS

    missed = broken = 0
    for kept in KEPT:
        sort = Sort(given=kept.given)
        with _planting(kept.mistake):
            found = next((seed for seed in range(SEEDS) if run_one(seed, sort).broken), None)
        if found is None:
            missed += 1
            print(f"no more found: {kept.mistake}")
        for seed in range(SEEDS if found is None else found + 1):
            if wrong := run_one(seed, sort).broken:
                broken += 1
                print(f"seed {seed}: {wrong}\n  again: postdate-sim --replay {seed}{sort.options}")
    print(f"{len(KEPT)} kept, {missed} missed, {broken} broken")
    return 1 if missed or broken else 0


@contextmanager
def _planting(name: str | None) -> Iterator[None]:
    if name is None:
        yield
        return
    from tests.simulation.planted import BUGS, planted

    (bug,) = [each for each in BUGS if each.name == name] or [None]
    if bug is None:
        raise SystemExit(f"there is no mistake called {name!r}")
    with planted(bug):
        yield


def _batch(seeds: Sequence[int], jobs: int, told: bool, sort: Sort) -> int:
    began = time.monotonic()
    found, is_whole = run_all(seeds, sort, jobs)
    seconds = time.monotonic() - began
    if told:
        for name, times in sorted(found.reach.items()):
            print(f"{times:>9} in {found.runs_with[name]:>6} runs: {name}")
    from tests.simulation.reach import missing

    enough = _REACHES_ALL.get(sort)
    missed = missing(found.reach, short=sort.short) if enough is not None and len(seeds) >= enough else []
    for name in missed:
        print(f"never reached: {name}")
    print(
        f"{found.seeds} seeds{'' if is_whole else f' of {len(seeds)}'}, {len(found.broken)} broken; "
        f"{found.seconds / 3600:.0f} hours simulated, {found.calls} calls to AWS, {found.faults} faults; "
        f"{found.seeds / seconds:.1f} seeds a second"
    )
    return 1 if found.broken or missed or not is_whole else 0


def _single(jobs: int, only: str, write: bool) -> int:
    from tests.simulation.single import all_cases
    from tests.simulation.single_flows import FLOWS
    from tests.simulation.single_page import page

    names = [flow.name for flow in FLOWS if only in flow.name]
    parts = [(name, part, _PARTS) for name in names for part in range(_PARTS)]
    with ProcessPoolExecutor(jobs, mp_context=FORK, initializer=begin) as pool:
        found = [case for cases in pool.map(all_cases, *zip(*parts, strict=True)) for case in cases]
    found.sort(key=lambda case: (names.index(case.flow), case.place))
    broken = [case for case in found if case.ended.broken]
    for case in broken:
        print(f"{case.flow}, call {case.place + 1} ({case.call}), {case.fault}: {case.ended.broken}")
    print(f"{len(found)} single faults in {len(names)} flows, {len(broken)} broken")
    if write:
        Path("docs/faults.md").write_text(page(found))
    return 1 if broken else 0


def _density(runs: int, jobs: int, only: str) -> int:
    import tests.simulation.run  # noqa: F401 - once, before the processes part
    from tests.simulation.density import densities

    found = densities(only, runs, jobs)
    print(*(each.line for each in found), sep="\n")
    return 1 if any(each.is_sparse for each in found) else 0


def _planted(most: int, jobs: int, only: str, write: bool, short: bool) -> int:
    import tests.simulation.run  # noqa: F401 - once, before the processes part
    from tests.simulation.planted import BUGS, page, prepared, seeds_in

    names = [bug.name for bug in BUGS if only in bug.name]
    prepared()
    kept = {} if short else seeds_in(_PLANTED_PAGE.read_text())
    began, found = time.monotonic(), []
    with ProcessPoolExecutor(min(jobs, len(names)), mp_context=FORK, initializer=begin) as pool:
        for done in as_completed([pool.submit(_found, name, most, short, kept.get(name)) for name in names]):
            found.append(each := done.result())
            told = each.broken or "MISSED"
            print(
                f"{'' if each.seed is None else each.seed:>6}  {each.bug.name} ({each.mix}): {told[:160]}",
                flush=True,
            )
    missed = sum(each.broken is None for each in found)
    seconds = time.monotonic() - began
    print(
        f"{len(names)} mistakes, {missed} missed; {sum(each.runs for each in found)} runs, {seconds:.0f} seconds"
    )
    if write:
        found.sort(key=lambda each: names.index(each.bug.name))
        _PLANTED_PAGE.write_text(page(found))
    return 1 if missed else 0


def _found(name: str, most: int, short: bool, kept: int | None) -> "Found":
    """The seed that shows the mistake, and how: the seed that showed it last, or the first of all."""
    from tests.simulation.planted import BUGS, Found, planted

    (bug,) = (each for each in BUGS if each.name == name)
    if bug.test is not None:
        fails = (
            subprocess.run([sys.executable, "-m", "tests.simulation.tested", name], check=False).returncode
            == 0
        )
        return Found(
            bug=bug, mix="one test", seed=None, runs=1, broken=f"Broken: {bug.test}" if fails else None
        )
    seeds = [*([] if kept is None else [kept]), *range(most)]
    tries = [(theme, seed) for theme in ((bug.mix, None) if bug.mix else (None,)) for seed in seeds]
    with planted(bug):
        for runs, (theme, seed) in enumerate(tries, 1):
            sort = Sort(theme=theme, short=short or bug.short)
            if broken := run_one(seed, sort).broken:
                return Found(bug=bug, mix=sort.name, seed=seed, runs=runs, broken=broken)
    return Found(bug=bug, mix="all sorts", seed=most, runs=len(tries), broken=None)


if __name__ == "__main__":
    sys.exit(main())
