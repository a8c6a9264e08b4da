"""Make, list, show, change, suspend, resume and erase tenants, as an operator.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
import sys
from typing import Any, Final

from cli.commands.down import place_arguments
from cli.service import Service, change_arguments, service

PATH: Final = "/api/v1/ops/tenants"
RENAMED: Final = frozenset({"accounts", "journal", "payments"})
LISTS: Final = {"queue": "queues", "topic": "topics", "bus": "buses"}


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    make = _action(chosen, "make", "make a tenant and tell its signing secret once")
    _settings(make)
    _action(chosen, "list", "list the tenants", named=False)
    change = _action(chosen, "change", "change the tier, the quota or the lists of destinations")
    _settings(change)
    suspend = _action(chosen, "suspend", "refuse registrations")
    suspend.add_argument("--reason", required=True)
    suspend.add_argument(
        "--pending", choices=("run", "wait"), default="run", help="what becomes of items that are due (run)"
    )
    _action(chosen, "show", "show one, and how far its erasure is")
    _action(chosen, "erasure", "count what an erasure would rename, cancel and delete, and change nothing")
    erase = _action(
        chosen, "erase", "take its names out of tables and archive for ever, once it is suspended"
    )
    erase.add_argument("--reason", required=True)
    _action(chosen, "replace-data-key", "seal its secrets by a new data key, from an hour on")
    _action(chosen, "resume", "accept registrations again, and let go on what waits")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="operator_key") as api:
        match options.action:
            case "make":
                return {"tenants": [api.post(PATH, {"tenant_id": options.id, **_form(options)})]}
            case "change":
                return {"tenants": [api.patch(f"{PATH}/{options.id}", _form(options))]}
            case "suspend":
                api.sure(f"Refuse the registrations of {options.id}?")
                form = {"pending": options.pending, "reason": options.reason}
                return {"tenants": [api.post(f"{PATH}/{options.id}/suspend", form)]}
            case "show":
                return {"tenants": [api.get(f"{PATH}/{options.id}")]}
            case "erasure":
                return {"tenants": [], "erasure": _counted(api, options.id)}
            case "erase":
                api.sure(f"Erase {options.id}? This cannot be undone.")
                form = {"confirm": options.id, "reason": options.reason}
                return {"tenants": [api.post(f"{PATH}/{options.id}/erase", form)]}
            case "replace-data-key":
                api.sure(f"Replace the data key of {options.id}?")
                return {"tenants": [], **api.post(f"{PATH}/{options.id}/replace-data-key", {})}
            case "resume":
                return {"tenants": [api.post(f"{PATH}/{options.id}/resume", {})]}
            case _:
                return {"tenants": api.every(PATH, "tenants")}


def show(answer: dict[str, Any]) -> str:
    if "erasure" in answer:
        return _preview(answer["erasure"])
    if "seals_from" in answer:
        return f"The new data key seals from {answer['seals_from']}. The ones before open what they sealed."
    return "\n".join(_line(tenant) for tenant in answer["tenants"]) or "There is no tenant."


def _line(tenant: dict[str, Any]) -> str:
    line = f"{tenant['tenant_id']}  {tenant['status']}  {tenant['tier']}, "
    line += f"{tenant['quotas']['registered_per_second']} a second"
    line += f", suspended: {tenant['suspended_because']}" if tenant["suspended_because"] else ""
    line += f", its money is that of {tenant['erased_as']}" if tenant.get("erased_as") else ""
    line += _progress(tenant["erasure"]) if tenant.get("erasure") else ""
    secret = tenant.get("signing_secret")
    return f"{line}\n  signing secret, told only now: {secret}" if secret else line


def _progress(erasure: dict[str, Any]) -> str:
    line = f"\n  erasure: step {erasure['step']} of {erasure['steps']} ({erasure['doing']}), {erasure['rows']:,} rows"
    return f"{line}, waits until {erasure['waits_until']}" if erasure["waits_until"] else line


def _counted(api: Service, id: str) -> dict[str, Any]:
    """Counts until all tables are read."""
    cursor = ""
    while True:
        found: dict[str, Any] = api.get(f"{PATH}/{id}/erasure{cursor}")
        if found["next_cursor"] is None:
            return found
        print(f"{sum(found['rows'].values()):,} rows until now", file=sys.stderr)
        cursor = f"?cursor={found['next_cursor']}"


def _preview(found: dict[str, Any]) -> str:
    cancelled = found["payments_cancelled"]
    lines = [f"An erasure of {found['tenant_id']} would do this:"]
    for table, count in found["rows"].items():
        lines.append(f"  {table:<14}{count:>12,}  {'renamed' if table in RENAMED else 'deleted'}")
    lines.append(f"  {cancelled['count']:,} payments would be cancelled, which hold {cancelled['amount']:,}.")
    lines.append(f"  {found['letters']:,} dead letters would be deleted. Nothing was changed.")
    return "\n".join(lines)


def _settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", help="the name of a tier")
    parser.add_argument("--registered-per-second", type=int, metavar="N", help="a quota of its own")
    for noun, name in LISTS.items():
        parser.add_argument(f"--{noun}", action="append", dest=name, help=f"one of its {name}")


def _form(options: argparse.Namespace) -> dict[str, Any]:
    quota = options.registered_per_second
    given = {"tier": options.tier, "quotas": quota and {"registered_per_second": quota}}
    given |= {name: getattr(options, name) for name in LISTS.values()}
    return {name: value for name, value in given.items() if value is not None}


def _action(chosen: Any, name: str, text: str, *, named: bool = True) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    if named:
        made.add_argument("id", help="the tenant")
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    place_arguments(made)
    change_arguments(made)
    return made
