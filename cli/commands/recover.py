"""Recover an environment after a loss or a restore of tables: repair money, reset the watermark.

docs/recovery.md has the steps before and after.
"""

import argparse
from datetime import UTC, datetime
from typing import Any, Final

from cli.aws.functions import Functions
from cli.aws.recover import recovered
from cli.aws.schedules import enable
from cli.clients import clients
from cli.commands.down import place_arguments
from cli.failure import Failure
from cli.recovery import MONEY
from infra.environments import ENVIRONMENTS

TABLES: Final = (
    *("items", *MONEY, "payloads", "idempotency", "tenants", "keys", "data_keys", "slots", "flow"),
    *("operations", "events", "subscriptions", "switches"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, choices=tuple(ENVIRONMENTS), help="the environment")
    place_arguments(parser)
    parser.add_argument("--stop", action="store_true", help="only stop the functions")
    parser.add_argument(
        "--start", action="store_true", help="only start the functions again, and enable their schedules"
    )
    parser.add_argument(
        "--since", type=_instant, metavar="INSTANT", help="the instant that the restored tables show"
    )
    parser.add_argument(
        "--restored", nargs="*", default=[], choices=TABLES, metavar="TABLE", help="the restored tables"
    )
    parser.add_argument(
        "--from",
        type=_instant,
        dest="first",
        metavar="INSTANT",
        help="sweep again from the minute of this instant",
    )
    parser.add_argument("--dry-run", action="store_true", help="report the repairs without making them")


def run(options: argparse.Namespace) -> dict[str, Any]:
    environment = ENVIRONMENTS[options.env]
    with clients(environment, options.port) as client:
        functions = Functions(environment=environment, client=client("lambda"))
        if options.stop:
            functions.stop()
            return {"stopped": True}
        if options.start:
            functions.start()
            return {"stopped": False, "schedules_enabled": list(enable(environment, client("scheduler")))}
        if options.since is None:
            raise Failure("Say what the restored tables show, or when the loss began: --since")
        return recovered(
            functions,
            client("dynamodb"),
            since=options.since,
            restored=options.restored,
            first=options.first,
            dry=options.dry_run,
        )


def show(answer: dict[str, Any]) -> str:
    if "stopped" in answer:
        if answer["stopped"]:
            return "The functions are stopped."
        return "\n".join(
            ("The functions are started.", *(f"  enabled  {name}" for name in answer["schedules_enabled"]))
        )
    lines = [
        f"{'Would be mended' if answer['dry_run'] else 'Recovered'}: {answer['since']}",
        f"  swept again from  {answer['swept_again_from']}",
        f"  tokens raised     {answer['tokens_raised']}",
        *(f"  {change}" for change in answer["tables"]),
    ]
    for tenant, told in answer["tenants"].items():
        lines.append(f"  {tenant}")
        for name, found in told.items():
            if name == "unsound":
                lines += [f"    unsound: {account}: {why}" for account, why in found.items()]
            else:
                lines.append(f"    {name}: {len(found)}")
    return "\n".join(lines)


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is None:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError("an instant has an offset, such as 2026-11-18T10:05:00Z") from None
    return instant.astimezone(UTC)
