"""Tell which alarms of an environment fire, with their entries of the runbook."""

import argparse
from datetime import UTC, datetime
from typing import Any

from cli.alarms import firing_locally, firing_on_aws
from cli.clients import clients
from cli.commands.down import place_arguments
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", default="local", choices=tuple(ENVIRONMENTS), help="the environment (local)")
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment = ENVIRONMENTS[options.env]
    with clients(environment, options.port) as client:
        if environment.watched:
            return {"firing": firing_on_aws(environment, client)}
        return {"firing": firing_locally(environment, client, datetime.now(UTC))}


def show(answer: dict[str, Any]) -> str:
    if not answer["firing"]:
        return "No alarm fires."
    return "\n".join(
        f"{each['severity']:<7} {each['alarm']} since {each['since']}\n"
        f"        {each['meaning']}\n"
        f"        {each['runbook']}"
        for each in answer["firing"]
    )
