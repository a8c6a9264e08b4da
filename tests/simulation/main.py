"""`postdate-sim`: runs of the simulation by their seeds, side by side; or one of them again, told line by line."""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.planted import Found
    from tests.simulation.run import Result

_CHUNK = 10
_FORK = multiprocessing.get_context("fork")


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    _with_a_fixed_order_of_sets()
    if given.replay is not None:
        return _replay(given.replay, given.after, given.mix)
    if given.single:
        return _single(given.jobs, given.only, given.write)
    if given.planted:
        return _planted(given.planted, given.jobs, given.only, given.write)
    return _batch(_seeds(given.seeds), given.jobs, given.reach, given.mix)


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
        "--planted", metavar="N", type=int, help="plant each known mistake and find it within N seeds"
    )
    parser.add_argument(
        "--after",
        metavar="A:B",
        default="0:0",
        help="with --replay: run these seeds first, in the same process",
    )
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
        "--mix", metavar="NAME", help="with --seeds and --replay: runs of one sort only, as mix.py names them"
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="processes (all cores)")
    parser.add_argument("--reach", action="store_true", help="tell which situations were reached, how often")
    return parser


def _with_a_fixed_order_of_sets() -> None:
    """Python draws the order of its sets anew for each process, unless it is told not to."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606


def _replay(seed: int, after: str, mix: str | None) -> int:
    for earlier in _seeds(after):
        _run(earlier, mix)
    result = _run(seed, mix)
    print("\n".join(result.lines))
    print(f"seed {seed}: {result.broken or 'all invariants hold'}")
    return 1 if result.broken else 0


def _run(seed: int, mix: str | None) -> "Result":
    from tests.simulation.mix import themed
    from tests.simulation.run import run

    return run(seed, None if mix is None else themed(Random(seed), mix))


def _batch(seeds: Sequence[int], jobs: int, told: bool, mix: str | None) -> int:
    began = time.monotonic()
    chunks = [list(chunk) for chunk in _chunks(seeds)]
    reach, broken, calls, simulated = Counter[str](), 0, 0, 0.0
    with ProcessPoolExecutor(min(jobs, len(chunks)), mp_context=_FORK) as pool:
        for results in pool.map(_some, chunks, repeat(mix)):
            for result in results:
                reach = _together(reach, result.reach)
                calls, simulated = calls + result.calls, simulated + result.seconds
                if result.broken:
                    broken += 1
                    print(f"seed {result.seed}: {result.broken[:600]}", flush=True)
                    again = f"--replay {result.seed}" + (f" --mix '{mix}'" if mix else "")
                    print(f"  again: postdate-sim {again}", flush=True)
    seconds = time.monotonic() - began
    if told:
        for name, times in sorted(reach.items()):
            print(f"{times:>9} {name}")
    from tests.simulation.reach import missing

    missed = missing(reach) if len(seeds) >= 500 and mix is None else []
    for name in missed:
        print(f"never reached: {name}")
    print(
        f"{len(seeds)} seeds, {broken} broken; {simulated / 3600:.0f} hours simulated, {calls} calls to AWS, "
        f"{sum(times for name, times in reach.items() if name.startswith('fault '))} faults; "
        f"{len(seeds) / seconds:.1f} seeds a second"
    )
    return 1 if broken or missed else 0


def _together(first: Counter[str], second: Counter[str]) -> Counter[str]:
    """Summed, but for what names a maximum."""
    found = first + second
    for name in found:
        if "most" in name:
            found[name] = max(first[name], second[name])
    return found


def _single(jobs: int, only: str, write: bool) -> int:
    from tests.simulation.single import FLOWS, all_cases, page

    names = [flow.name for flow in FLOWS if only in flow.name]
    with ProcessPoolExecutor(min(jobs, len(names)), mp_context=_FORK) as pool:
        found = [case for cases in pool.map(all_cases, names) for case in cases]
    broken = [case for case in found if case.ended.broken]
    for case in broken:
        print(f"{case.flow}, call {case.place + 1} ({case.call}), {case.fault}: {case.ended.broken}")
    print(f"{len(found)} single faults in {len(names)} flows, {len(broken)} broken")
    if write:
        Path("docs/faults.md").write_text(page(found))
    return 1 if broken else 0


def _planted(most: int, jobs: int, only: str, write: bool) -> int:
    from tests.simulation.planted import BUGS, page, prepared

    names = [bug.name for bug in BUGS if only in bug.name]
    prepared()
    began, found = time.monotonic(), []
    with ProcessPoolExecutor(min(jobs, len(names)), mp_context=_FORK) as pool:
        for done in as_completed([pool.submit(_found, name, most) for name in names]):
            found.append(each := done.result())
            told = each.broken or "MISSED"
            print(f"{each.seeds:>6}  {each.bug.name} ({each.mix}): {told[:160]}", flush=True)
    missed = sum(each.broken is None for each in found)
    seconds = time.monotonic() - began
    print(
        f"{len(names)} mistakes, {missed} missed; {sum(each.seeds for each in found)} seeds, {seconds:.0f} seconds"
    )
    if write:
        found.sort(key=lambda each: names.index(each.bug.name))
        Path("docs/planted.md").write_text(page(found))
    return 1 if missed else 0


def _found(name: str, most: int) -> "Found":
    """After how many seeds the mistake shows, and how."""
    from tests.simulation.planted import BUGS, Found, planted

    (bug,) = (each for each in BUGS if each.name == name)
    sorts = (bug.mix, None) if bug.mix else (None,)
    seeds = 0
    with planted(bug):
        for sort in sorts:
            for seed in range(most):
                seeds += 1
                if broken := _run(seed, sort).broken:
                    return Found(bug=bug, mix=sort or "all sorts", seeds=seeds, broken=broken)
    return Found(bug=bug, mix="all sorts", seeds=seeds, broken=None)


def _some(seeds: Sequence[int], mix: str | None) -> "list[Result]":
    return [replace(_run(seed, mix), lines=[]) for seed in seeds]


def _chunks(seeds: Sequence[int]) -> Iterator[list[int]]:
    waiting = iter(seeds)
    while chunk := list(islice(waiting, _CHUNK)):
        yield chunk


if __name__ == "__main__":
    sys.exit(main())
