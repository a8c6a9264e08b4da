"""Redrive dead tasks or parked payments: a dry run, unless it is started.

The same as `postdate operations redrive`.
"""

import argparse
from typing import Any

from cli import operations
from cli.commands.down import place_arguments
from cli.service import change_arguments, service


def arguments(parser: argparse.ArgumentParser) -> None:
    operations.plan_arguments(parser)
    place_arguments(parser)
    change_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        return {"operation": operations.planned(api, "redrive", options)}


def show(answer: dict[str, Any]) -> str:
    return operations.report(answer["operation"])
