"""Play a game day on a local stack of its own: each fault is seen, told by its alarm, and put right by the runbook."""

import argparse
import random
from typing import Any

from chaos.game.run import Plan
from chaos.game.run import run as played
from cli.commands.chaos import minutes, show, told

__all__ = ["arguments", "run", "show"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=minutes, default=2, help="no drill begins after them (2)")
    parser.add_argument("--seed", type=int, help="seed of the order and sizes of faults (random)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Raises Failure if a fault was not seen, not told or not put right."""
    seed = random.randrange(1_000_000) if options.seed is None else options.seed  # noqa: S311 (no secret)
    return told(played(Plan(minutes=options.minutes, seed=seed)), seed, as_json=options.json)
