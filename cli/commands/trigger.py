"""Cause an event of any type on a local stack, to try what follows it.

The event is real: it is recorded, listed in the feed and delivered to subscriptions like any other.
"""

import argparse
import json
import os
from typing import Any

from cli.commands.down import place_arguments
from cli.failure import Failure, NotReady
from cli.local.place import Place
from cli.local.stack import saved
from cli.trigger.fixtures import FIXTURES, NEVER
from cli.trigger.hands import hands


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "type", nargs="?", metavar="TYPE", help="such as payment.failed; without one: all types"
    )
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    if options.type is None:
        return {"types": sorted(FIXTURES)}
    if options.type in NEVER:
        raise Failure(f"No event is {options.type}. {NEVER[options.type]}")
    if options.type not in FIXTURES:
        raise Failure(f"There is no type {options.type}. All types: postdate trigger")
    place = Place.of(options.port, os.environ)
    if (stack := saved(place)) is None:
        raise NotReady(f"No local stack runs on port {place.port}. Start one: {place.starts_it}")
    with hands(stack, place) as mine:
        return mine.seen(options.type, FIXTURES[options.type](mine))


def show(answer: dict[str, Any]) -> str:
    return "\n".join(answer["types"]) if "types" in answer else json.dumps(answer, indent=2)
