"""Measure a local stack of its own: print lines of JSON during the run, then a table."""

import argparse
import sys
from contextlib import closing
from typing import Any

from bench import report
from bench.plan import Plan
from bench.run import CASES, WHOLE
from bench.run import run as measured
from cli.failure import Failure


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        type=_cases,
        default=WHOLE,
        help=f"cases to run, from {','.join(CASES)} (all but {', '.join(sorted(set(CASES) - set(WHOLE)))})",
    )
    parser.add_argument("--items", type=_number, default=2000, help="tasks or payments in a burst (2000)")
    parser.add_argument("--calls", type=_number, default=800, help="requests of each kind to the API (800)")
    parser.add_argument("--seconds", type=_number, default=30, help="duration of each steady rate (30)")
    parser.add_argument("--rates", type=_numbers, default=(50,), help="steady rates in tasks a second (50)")
    parser.add_argument(
        "--payment-rates",
        type=_numbers,
        default=(1, 50),
        help="steady rates in payments a second (1,50); the case peak has 350",
    )
    parser.add_argument(
        "--stored",
        type=_numbers,
        default=(10_000, 100_000),
        help="pending items beside which the case stored measures (10000,100000)",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Runs the bench and prints each line as it is measured. With `--json` nothing else is printed, so the answer is
    empty."""
    plan = Plan(
        items=options.items,
        calls=options.calls,
        seconds=options.seconds,
        rates=options.rates,
        payment_rates=options.payment_rates,
        stored=tuple(sorted(options.stored)),
    )
    lines = []
    with closing(measured(plan, options.only)) as coming:
        for line in coming:
            print(report.text(line), flush=True)
            lines.append(line)
    broken = report.broken(lines)
    if broken and not options.json:
        print(show({"lines": lines}))
    if broken:
        raise Failure(f"Not as promised: {broken}")
    if options.json:
        sys.exit(0)
    return {"lines": lines}


def show(answer: dict[str, Any]) -> str:
    return f"\n{report.tables(answer['lines'])}\n"


def _cases(text: str) -> list[str]:
    chosen = text.split(",")
    if unknown := [name for name in chosen if name not in CASES]:
        raise argparse.ArgumentTypeError(f"no such case: {', '.join(unknown)}")
    return chosen


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_number(part) for part in text.split(","))


def _number(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number
