"""Actions of a command that speaks to a service: each takes the options that all of them have."""

import argparse
from typing import Any

from cli.commands.down import place_arguments
from cli.service import change_arguments, service_arguments


def action(chosen: Any, name: str, text: str, *, changes: bool = False) -> argparse.ArgumentParser:
    """Adds an action to the subparsers `chosen`; one that changes something can be tried with --dry-run."""
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    place_arguments(made)
    (change_arguments if changes else service_arguments)(made)
    return made
