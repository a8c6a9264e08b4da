"""Stop the local stack and forget its data."""

import argparse
import os
from typing import Any

from cli.local import ministack
from cli.local.once import alone
from cli.local.place import DEFAULT_PORT, Place


def arguments(parser: argparse.ArgumentParser) -> None:
    usual = os.environ.get("PORT") or str(DEFAULT_PORT)
    parser.add_argument("--port", type=port, default=usual, help=f"of the stack ({DEFAULT_PORT}; also PORT=)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    place = Place.of(options.port, os.environ)
    if not place.directory.exists():
        return {"stopped": False, "port": place.port}
    with alone(place.lock):
        return {"stopped": ministack.stop(place), "port": place.port}


def show(answer: dict[str, Any]) -> str:
    return (
        f"Stopped port {answer['port']}." if answer["stopped"] else f"Nothing ran on port {answer['port']}."
    )


def port(text: str) -> int:
    number = int(text)
    if not 1024 <= number <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1024 to 65535")
    return number
