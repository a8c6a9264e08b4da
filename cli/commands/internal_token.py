"""Make a new token for the internal routes of an environment on AWS; the one before it ends in an hour."""

import argparse
from typing import Any

from cli import tenants
from cli.aws.reach import reaching
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, choices=("dev", "staging", "prod"), help="which environment")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Speaks to the account that the environment's credentials are for, as `make deploy` does."""
    with reaching(options.env):
        return {"internal_token": tenants.internal_token(ENVIRONMENTS[options.env].table("keys"))}


def show(answer: dict[str, Any]) -> str:
    return f"The token is told only now:\n  {answer['internal_token']}"
