"""Stop the local stack and delete its data."""

import argparse
import os
from typing import Any

from cli.local import ministack
from cli.local.once import alone
from cli.local.place import DEFAULT_PORT, Place


def arguments(parser: argparse.ArgumentParser) -> None:
    place_arguments(parser)
    parser.add_argument("--all", action="store_true", help="stop the stacks on all ports")


def place_arguments(parser: argparse.ArgumentParser) -> None:
    usual = os.environ.get("PORT") or str(DEFAULT_PORT)
    parser.add_argument(
        "--port", type=port, default=usual, help=f"port of the stack ({DEFAULT_PORT}; also PORT=)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    places = Place.every() if options.all else [Place.of(options.port, os.environ)]
    stopped = [place.port for place in places if place.directory.exists() and _stop(place)]
    running = [place.port for place in Place.every() if place.engine_file.exists()]
    return {"stopped": stopped, "ports": [place.port for place in places], "running": running}


def show(answer: dict[str, Any]) -> str:
    """Names the stopped ports; if none was stopped, the ports where a stack still runs."""
    if answer["stopped"]:
        return "\n".join(f"Stopped port {port}." for port in answer["stopped"])
    lines = [f"Nothing ran on port {port}." for port in answer["ports"]] or ["Nothing ran."]
    others = (Place.of(port, {}) for port in answer["running"] if port not in answer["ports"])
    return "\n".join(
        [*lines, *(f"Port {place.port} runs on: `{place.stops_it}` stops it." for place in others)]
    )


def _stop(place: Place) -> bool:
    with alone(place.lock):
        return ministack.stop(place)


def port(text: str) -> int:
    number = int(text)
    if not 1024 <= number <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1024 to 65535")
    return number
