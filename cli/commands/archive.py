"""Archive events now, verify the archive against its manifests, or read a tenant's events from it.

Speaks to AWS with the credentials of an operator, or to the local stack, which has no nights.
"""

import argparse
import json
import time
from datetime import date
from typing import Any, Final

from cli import archive as archives
from cli import tenants
from cli.clients import clients
from cli.commands.down import place_arguments
from cli.failure import Failure
from cli.progress import say
from infra.environments import ENVIRONMENTS

_MACHINE: Final = ":stateMachine:"
_LOOKS_EVERY_SECONDS: Final = 0.5


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    run_now = _action(chosen, "run", "archive the days that are over")
    run_now.add_argument("--today", action="store_true", help="also the day that runs")
    _action(chosen, "verify", "compare every object with its manifest, and each payment with its slot")
    read = _action(chosen, "read", "print a tenant's events")
    read.add_argument("--tenant", required=True)
    read.add_argument("--day", type=date.fromisoformat, help="such as 2026-11-18 (all days)")


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment = ENVIRONMENTS[options.env]
    with clients(environment, options.port) as client:
        function = client("lambda").get_function_configuration(FunctionName=environment.named("archive"))
        if options.action == "run":
            machine = function["FunctionArn"].replace(":lambda:", ":states:").replace(":function:", _MACHINE)
            return _archived(machine, client("stepfunctions"), today=options.today)
        settings = function["Environment"]["Variables"]
        archive = archives.reached(settings, client("s3"))
        if options.action == "read":
            vault = tenants.vault(settings["DATA_KEYS_TABLE"], environment, kms=lambda: client("kms"))
            return {"events": list(archives.read(archive, vault, options.tenant, day=options.day))}
        told = archives.verify(archive).told()
    if not told["ok"]:
        for problem in told["problems"]:
            say(problem)
        raise Failure(f"The archive has {len(told['problems'])} problems.")
    return told


def show(answer: dict[str, Any]) -> str:
    if "ok" in answer:
        return (
            f"The archive is sound: {answer['events']} events in {answer['objects']} objects, named by "
            f"{answer['manifests']} manifests of {answer['owners']} feeds; {answer['bytes']} bytes. "
            f"{answer['payments']['payments']} payments in {answer['payments']['objects']} objects of slots; "
            f"{answer['payments']['bytes']} bytes."
        )
    if isinstance(answer["events"], int):
        return f"Archived {answer['events']} events with {answer['manifests']} manifests."
    return "\n".join(json.dumps(event) for event in answer["events"])


def _archived(machine: str, client: Any, *, today: bool) -> dict[str, Any]:
    """Runs the state machine to its end."""
    begun = client.start_execution(stateMachineArn=machine, input=json.dumps({"today": today}))
    while True:
        found = client.describe_execution(executionArn=begun["executionArn"])
        if found["status"] != "RUNNING":
            break
        time.sleep(_LOOKS_EVERY_SECONDS)
    if found["status"] != "SUCCEEDED":
        raise Failure(f"The archive did not come to its end: {found.get('error')}: {found.get('cause')}")
    answer: dict[str, Any] = json.loads(found["output"])
    return {name: answer[name] for name in ("manifests", "events")}


def _action(chosen: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    parser.add_argument("--env", default="local", choices=tuple(ENVIRONMENTS), help="the environment (local)")
    place_arguments(parser)
    return parser
