"""Put a local stack of its own under load and faults for some minutes, then check every promise."""

import argparse
import random
import sys
from collections.abc import Generator
from contextlib import closing
from typing import Any

from chaos import report
from chaos.plan import Plan
from chaos.report import Line
from chaos.run import run as broken_and_watched
from cli.failure import Failure


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=minutes, default=2, help="duration of the faults (2)")
    parser.add_argument(
        "--game-day", type=minutes, default=0, metavar="MINUTES", help="then a game day on the same stack"
    )
    parser.add_argument("--seed", type=int, help="seed of requests and faults (random)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Runs chaos until its time is over. Raises Failure if a promise was broken. With `--json` each line is printed as
    soon as it is known, and nothing else."""
    seed = random.randrange(1_000_000) if options.seed is None else options.seed  # noqa: S311 (no secret)
    plan = Plan(minutes=options.minutes, seed=seed, game_minutes=options.game_day)
    return told(broken_and_watched(plan), seed, as_json=options.json)


def told(coming: Generator[Line, None, None], seed: int, *, as_json: bool) -> dict[str, Any]:
    """Takes all lines of a run; see `run`."""
    lines = []
    with closing(coming):
        for line in coming:
            if as_json:
                print(report.text(line), flush=True)
            lines.append(line)
    broken = report.broken(lines)
    if broken and not as_json:
        print(show({"lines": lines}))
    if broken:
        raise Failure(f"Not as promised, with seed {seed}: {', '.join(broken)}")
    if as_json:
        sys.exit(0)
    return {"lines": lines}


def show(answer: dict[str, Any]) -> str:
    return f"\n{report.table(answer['lines'])}\n"


def minutes(text: str) -> int:
    """A number of minutes, as an argument."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number
