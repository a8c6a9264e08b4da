"""Make a key for an operator of an environment on AWS. Each request with the key names a tenant."""

import argparse
from typing import Any

from cli import tenants
from cli.aws.reach import reached_keys, reaching
from cli.commands.tenant import scope_arguments


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, choices=("dev", "staging", "prod"), help="the environment")
    scope_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Speaks to the account that the environment's credentials are for, as `make deploy` does."""
    scopes = tenants.OPERATOR | set(options.scope)
    with reaching(options.env):
        key = tenants.operator_key(reached_keys(options.env), scopes)
    return {"key": key, "scopes": sorted(scopes)}


def show(answer: dict[str, Any]) -> str:
    return (
        f"An operator's key is told only now:\n  key         {answer['key']}\n"
        f"  its scopes  {' '.join(answer['scopes'])}\n"
        f"Each request with it names a tenant in the header Postdate-Tenant."
    )
