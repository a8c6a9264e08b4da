"""Make a tenant of an environment on AWS with a key, or allow it more destinations and make another key."""

import argparse
import re
from functools import partial
from typing import Any, Final

from cli import tenants
from cli.aws.account import account
from cli.aws.reach import reached_keys, reaching
from infra.environments import ENVIRONMENTS
from postdate.targets.registry import KINDS

LISTED: Final = {kind.name: kind.listed for kind in KINDS.values() if kind.listed is not None}
NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tenant", type=_name, help="lower-case letters, digits and hyphens")
    parser.add_argument("--env", required=True, choices=("dev", "staging", "prod"), help="the environment")
    for name, listed in LISTED.items():
        parser.add_argument(
            f"--{listed.noun}",
            dest=name,
            action="append",
            default=[],
            metavar=listed.metavar,
            help=listed.help,
        )
    parser.add_argument("--default-queue", metavar="URL", help="the SQS queue for jobs without a target")
    scope_arguments(parser)
    parser.add_argument(
        "--account",
        action="append",
        metavar="ID",
        help="an account that the key may pay from and administer (all)",
    )


def scope_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scope",
        action="append",
        default=[],
        choices=sorted(tenants.SCOPES),
        help="what the key may do, beside reading",
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Speaks to the account that the environment's credentials are for, as `make deploy` does."""
    environment = ENVIRONMENTS[options.env]
    with reaching(options.env):
        made = tenants.tenant(
            environment.table("tenants"),
            options.tenant,
            vault=tenants.vault(
                environment.table("data_keys"), environment, kms=partial(account().client, "kms")
            ),
            destinations=[(name, address) for name in LISTED for address in getattr(options, name)],
            default_queue=options.default_queue,
        )
        key = tenants.key(
            reached_keys(options.env),
            options.tenant,
            tenants.READS | set(options.scope),
            accounts=None if options.account is None else frozenset(options.account),
        )
    return {
        "tenant": made.id,
        "key": key,
        "scopes": sorted(tenants.READS | set(options.scope)),
        "accounts": options.account,
        "signing_secret": made.signing_secrets[0],
        "default_target": made.default_target and made.default_target.address,
        "destinations": {name: sorted(made.allowed(name)) for name in LISTED},
    }


def show(answer: dict[str, Any]) -> str:
    lines = [
        f"Tenant {answer['tenant']}. Its key is told only now:",
        f"  key             {answer['key']}",
        f"  its scopes      {' '.join(answer['scopes'])}",
        *(f"  its account     {account}" for account in answer["accounts"] or []),
        f"  signing secret  {answer['signing_secret']}",
        *([f"  sends jobs to   {answer['default_target']}"] if answer["default_target"] else []),
        *(f"  may send to     {each}" for listed in answer["destinations"].values() for each in listed),
    ]
    return "\n".join(lines)


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError("a tenant is up to 63 lower-case letters, digits and hyphens")
    return text
