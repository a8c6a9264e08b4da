"""List the destinations that calls are held back from, and let calls go there again.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final

from cli.actions import action
from cli.service import service

PATH: Final = "/api/v1/destinations"


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    action(chosen, "list", "list them, with what waits")
    for name, text in {"probe": "let the next call try", "reset": "forget the failures"}.items():
        action(chosen, name, text, changes=True).add_argument("id", help="from the list")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        if options.action == "list":
            return {"destinations": api.every(PATH, "destinations")}
        return {"destinations": [api.post(f"{PATH}/{options.id}/{options.action}", None)]}


def show(answer: dict[str, Any]) -> str:
    return "\n".join(map(_line, answer["destinations"])) or "Calls go to every destination."


def _line(each: dict[str, Any]) -> str:
    line = f"{each['id']}  {each['state']}  {each['type']} {each['address']}  {each['failures']} failures"
    line += f", {each['waiting']} waiting"
    line += f", next probe {each['next_probe_at']}" if each["next_probe_at"] else ""
    return f"{line}: {each['last_error']}" if each["last_error"] else line
