"""Let the workers log each decision about a share of a tenant's tasks. It takes effect within a minute.

No deployment is needed: the share is in the tenant's row, which the workers read again every 30 seconds.
"""

import argparse
from typing import Any

from cli import tenants
from cli.clients import clients
from cli.commands.down import place_arguments
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tenant")
    parser.add_argument("share", type=share, help="from 0 (none of its tasks) to 1 (all)")
    parser.add_argument(
        "--env", default="local", choices=tuple(ENVIRONMENTS), help="which environment (local)"
    )
    place_arguments(parser)


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError("is not between 0 and 1")
    return value


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment = ENVIRONMENTS[options.env]
    with clients(environment, options.port) as client:
        tenants.log_share(
            environment.table("tenants"), options.tenant, options.share, client=client("dynamodb")
        )
    return {"tenant": options.tenant, "log_share": options.share}


def show(answer: dict[str, Any]) -> str:
    return f"Workers log each decision about {answer['log_share']:.0%} of the tasks of {answer['tenant']}."
