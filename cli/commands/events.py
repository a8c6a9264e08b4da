"""Look for missing events and fill them from the histories of their items, or read the recorder's dead letters again.

Calls the function `record` of an environment; the events are recorded, listed and delivered by it.
"""

import argparse
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from cli.clients import clients
from cli.commands.down import place_arguments
from cli.failure import Failure
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    check = _action(chosen, "check", "look for missing events of a tenant, and fill them")
    check.add_argument("tenant")
    check.add_argument("--days", type=int, default=3, help="how far to look back; 3 days by default")
    _action(chosen, "letters", "read the letters of events-dlq again; those whose events are recorded go")


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment = ENVIRONMENTS[options.env]
    asked: dict[str, Any] = {"action": options.action}
    if options.action == "check":
        since = datetime.now(UTC) - timedelta(days=options.days)
        asked |= {"tenant": options.tenant, "since": since.isoformat()}
    total: dict[str, Any] = {}
    with clients(environment, options.port) as client:
        lambdas = client("lambda")
        while True:
            answer = lambdas.invoke(
                FunctionName=environment.named("record"), Payload=json.dumps(asked).encode()
            )
            found = json.loads(answer["Payload"].read())
            if "FunctionError" in answer:
                raise Failure(f"The recorder failed: {found.get('errorMessage')}")
            total = {name: total[name] + value if name in total else value for name, value in found.items()}
            if found["after"] is None:
                return total
            asked["after"] = found["after"]
            total.pop("after")


def show(answer: dict[str, Any]) -> str:
    left = sum(gap["count"] for gap in answer["left"])
    line = f"{answer['subjects']} subjects, {answer['filled_count']} events filled, {left} left"
    if "letters_deleted" in answer:
        line += f"; {answer['letters_deleted']} letters are done, {answer['letters_kept']} stay"
    return "\n".join([line, *map(_gap, answer["left"])])


def _gap(gap: dict[str, Any]) -> str:
    line, more = f"  no history tells of {gap['event_id']}", gap["count"] - 1
    return f"{line} and {more} more of its subject, up to number {gap['last']}" if more else line


def _action(chosen: Any, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    made.add_argument("--env", default="local", choices=tuple(ENVIRONMENTS), help="the environment")
    place_arguments(made)
    return made
