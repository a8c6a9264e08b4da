"""Start or update the local stack, and run a payment and a task on it."""

import argparse
import os
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from cli.commands import down
from cli.local import aws, demo, watch
from cli.local.place import DEFAULT_PORT, Place
from cli.local.up import up
from cli.progress import say


def arguments(parser: argparse.ArgumentParser) -> None:
    down.place_arguments(parser)
    parser.add_argument(
        "--no-demo", dest="demo", action="store_false", help="start without the payment and the task"
    )
    parser.add_argument(
        "--foreground",
        action="store_true",
        default=os.environ.get("DETACH") == "0",
        help="stay in the foreground, show the queues, and stop the stack at the end (also DETACH=0)",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    place = Place.of(options.port, os.environ)
    stack = up(place)
    answer = asdict(stack) | ({"demo": demo.run(stack)} if options.demo else {})
    if options.foreground:
        say(f"{show(answer)}\nCtrl-C stops it here.\n")
        watch.until_interrupted(place, stack)
        return {"stopped": [place.port], "ports": [place.port], "running": []}
    return answer


def show(answer: dict[str, Any]) -> str:
    if "stopped" in answer:
        return down.show(answer)
    place = Place.of(urlsplit(answer["endpoint_url"]).port or DEFAULT_PORT, os.environ)
    lines = [
        f"Postdate runs at {answer['api_url']}",
        f"  console        {answer['console_url']}",
        f"  documentation  {answer['docs_url']}",
        f"  a key          {answer['api_key']}",
        f"  a destination  {answer['destination_queue_url']}",
        f"  to read it     {_as_variables(answer)}",
    ]
    lines += [
        f"  {item['name']:<13}  due {item['planned_at']}, {item['status']}, begun {item['lateness_ms']} ms late"
        for item in answer.get("demo", ())
    ]
    return "\n".join([*lines, f"`{place.stops_it}` stops it, on port {place.port}."])


def _as_variables(answer: dict[str, Any]) -> str:
    """The environment variables with which any AWS tool reaches the local engine."""
    variables = aws.CREDENTIALS | {
        "AWS_DEFAULT_REGION": answer["region"],
        "AWS_ENDPOINT_URL": answer["endpoint_url"],
    }
    return " ".join(f"{name}={value}" for name, value in variables.items())
