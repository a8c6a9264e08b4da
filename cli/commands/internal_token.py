"""Make a new token for the internal routes of an environment on AWS; the old token ends in an hour."""

import argparse
from typing import Any

from cli import tenants
from cli.aws.reach import reached_keys, reaching


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, choices=("dev", "staging", "prod"), help="the environment")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Speaks to the account that the environment's credentials are for, as `make deploy` does."""
    with reaching(options.env):
        return {"internal_token": tenants.internal_token(reached_keys(options.env))}


def show(answer: dict[str, Any]) -> str:
    return f"The token is told only now:\n  {answer['internal_token']}"
