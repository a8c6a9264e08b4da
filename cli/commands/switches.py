"""Stop what moves money or makes calls, let it go on, and show what is stopped, as an operator.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final
from urllib.parse import quote

from cli.actions import action
from cli.service import service

PATH: Final = "/api/v1/ops/switches"
_NAME: Final = "settlement, api_writes, tenant:<id> or target:<type>"


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    action(chosen, "list", "list the switches that were ever turned")
    action(chosen, "get", "show a switch with its history").add_argument("name", help=_NAME)
    for name, text in (("off", "stop within two seconds"), ("on", "go on")):
        turn = action(chosen, name, text, changes=True)
        turn.add_argument("name", help=_NAME)
        turn.add_argument("--reason", required=True, help="kept in the history")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="operator_key") as api:
        if options.action == "list":
            return {"switches": api.get(PATH)["switches"]}
        path = f"{PATH}/{quote(options.name, safe=':')}"
        if options.action == "get":
            return {"switches": [api.get(path)]}
        if options.action == "off":
            api.sure(f"Turn {options.name} off for all that it stops?")
        form = {"on": options.action == "on", "reason": options.reason}
        return {"switches": [api.put(path, form)]}


def show(answer: dict[str, Any]) -> str:
    return "\n".join(_line(switch) for switch in answer["switches"]) or "No switch was ever turned."


def _line(switch: dict[str, Any]) -> str:
    state = "on" if switch["on"] else f"OFF since {switch['off_at']}"
    caught_up = f", payments caught up at {switch['caught_up_at']}" if switch["caught_up_at"] else ""
    lines = [f"{switch['name']}  {state}{caught_up}"]
    lines += [
        f"  {turn['at']}  {'on' if turn['on'] else 'off'}  {turn['by']}: {turn['reason']}"
        for turn in switch.get("history", ())
    ]
    return "\n".join(lines)
