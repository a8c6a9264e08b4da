"""Print the monthly cost of alarms, dashboards, metrics and logs of an environment on AWS, beside traffic."""

import argparse
from dataclasses import asdict
from typing import Any

from cli.cost import billed
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--env", default="prod", choices=("dev", "staging", "prod"), help="which environment (prod)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    lines = billed(ENVIRONMENTS[options.env])
    return {
        "environment": options.env,
        "lines": [asdict(line) for line in lines],
        "dollars": round(sum(line.dollars for line in lines), 2),
    }


def show(answer: dict[str, Any]) -> str:
    rows = [
        f"{line['count']:>8} {line['name']:<18} {line['free'] or '':>4} {line['dollars']:>8.2f}"
        for line in answer["lines"]
    ]
    head = f"{answer['environment']}, dollars a month beside traffic:\n{'':>8} {'':<18} free"
    return "\n".join([head, *rows, f"{'':>8} {'sum':<18} {'':>4} {answer['dollars']:>8.2f}"])
