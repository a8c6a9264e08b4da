"""Make, list, rotate and revoke API keys of a tenant, and rotate its signing secret.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final

from cli import tenants
from cli.commands.down import place_arguments
from cli.service import change_arguments, service

PATH: Final = "/api/v1/keys"
SECRETS: Final = "/api/v1/signing-secrets/rotate"


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    make = _action(chosen, "make", "make a key and tell its text once")
    make.add_argument("name", help="the purpose of the key")
    make.add_argument("--scope", action="append", required=True, choices=sorted(tenants.SCOPES))
    make.add_argument(
        "--account", action="append", metavar="ID", help="an account that it may pay from (all)"
    )
    make.add_argument("--amount-max", type=int, help="the greatest amount of one payment")
    make.add_argument("--amount-per-day-max", type=int, help="the greatest sum of payments on a UTC day")
    make.add_argument(
        "--network", action="append", metavar="CIDR", help="where requests may come from (anywhere)"
    )
    make.add_argument(
        "--action",
        action="append",
        dest="actions",
        metavar="NAME",
        help="an operation that it may ask for (all of its scopes)",
    )
    make.add_argument("--read-only", action="store_true", help="nothing that writes, whatever its scopes say")
    make.add_argument("--requests-per-second", type=int, help="of all its requests (no limit)")
    make.add_argument("--expires-at", metavar="INSTANT", help="such as 2027-01-01T00:00:00Z (never)")
    _action(chosen, "list", "list the tenant's keys, without their texts")
    rotate = _action(chosen, "rotate", "give a key a new text and tell it once")
    rotate.add_argument("key_id")
    rotate.add_argument("--overlap", type=int, default=0, metavar="SECONDS", help="of both texts (0)")
    revoke = _action(chosen, "revoke", "refuse a key from now on")
    revoke.add_argument("key_id")
    secret = _action(chosen, "rotate-signing-secret", "sign webhooks with a new secret and tell it once")
    secret.add_argument(
        "--overlap", type=int, default=86_400, metavar="SECONDS", help="of both secrets (a day)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options) as api:
        match options.action:
            case "make":
                return {"keys": [api.post(PATH, _form(options))]}
            case "rotate":
                overlap = {"overlap_seconds": options.overlap}
                return {"keys": [api.post(f"{PATH}/{options.key_id}/rotate", overlap)]}
            case "revoke":
                api.sure(f"Refuse the key {options.key_id} from now on?")
                return {"keys": [api.delete(f"{PATH}/{options.key_id}")]}
            case "rotate-signing-secret":
                overlap = {"overlap_seconds": options.overlap}
                return {"keys": [], **api.post(SECRETS, overlap)}
            case _:
                return {"keys": api.every(PATH, "keys")}


def show(answer: dict[str, Any]) -> str:
    if "signing_secret" in answer:
        until = answer["previous_until"] or "now"
        return f"The new secret is told only now: {answer['signing_secret']}\nThe previous one signs until {until}."
    return "\n".join(_line(key) for key in answer["keys"]) or "There is no key."


def _line(key: dict[str, Any]) -> str:
    used, ends = key["last_used_at"] or "never", key["expires_at"] or "never"
    line = f"{key['key_id']}  {key['status']:<8}  {key['name']}: {' '.join(key['scopes'])}, "
    line += f"last used {used}, expires {ends}"
    return f"{line}\n  key, told only now: {key['key']}" if "key" in key else line


def _form(options: argparse.Namespace) -> dict[str, Any]:
    given = {
        "name": options.name,
        "scopes": options.scope,
        "account_ids": options.account,
        "amount_max": options.amount_max,
        "amount_per_day_max": options.amount_per_day_max,
        "networks": options.network,
        "actions": options.actions,
        "read_only": options.read_only or None,
        "requests_per_second": options.requests_per_second,
        "expires_at": options.expires_at,
    }
    return {name: value for name, value in given.items() if value is not None}


def _action(chosen: Any, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    place_arguments(made)
    change_arguments(made)
    return made
