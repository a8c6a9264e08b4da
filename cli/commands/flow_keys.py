"""List, show, pause, resume and pin flow keys: what tasks share that name the same key.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final
from urllib.parse import quote

from cli.actions import action
from cli.failure import NotReady
from cli.service import service

PATH: Final = "/api/v1/flow-keys"
_NONE: Final = "none"


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    action(chosen, "list", "list the keys in use")
    action(chosen, "show", "show one").add_argument("key")
    for name, text in {"pause": "let runs that are due wait", "resume": "let them go on"}.items():
        action(chosen, name, text, changes=True).add_argument("key")
    pin = action(chosen, "pin", "set values that win over those of tasks", changes=True)
    pin.add_argument("key")
    pin.add_argument(
        "--rate", metavar="N", help="runs that begin in a period; none takes the pinned rate away"
    )
    pin.add_argument("--period-seconds", type=int, metavar="N", help="the period of the rate (1)")
    pin.add_argument("--parallelism", metavar="N", help="runs at a time; none takes the pinned number away")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        if options.action == "list":
            return {"flow_keys": api.every(PATH, "flow_keys")}
        path = f"{PATH}/{quote(options.key, safe='')}"
        match options.action:
            case "show":
                return {"flow_keys": [api.get(path)]}
            case "pin":
                return {"flow_keys": [api.patch(path, _form(options))]}
            case _:
                return {"flow_keys": [api.post(f"{path}/{options.action}", None)]}


def show(answer: dict[str, Any]) -> str:
    return "\n".join(map(_line, answer["flow_keys"])) or "No flow key is in use."


def _line(key: dict[str, Any]) -> str:
    rate = "any rate" if key["rate"] is None else f"{key['rate']} in {key['period_seconds']} s"
    parallel = "any number" if key["parallelism"] is None else str(key["parallelism"])
    state = "PAUSED" if key["paused"] else "ACTIVE"
    counts = f"{key['waiting']} waiting" + ("" if key["running"] is None else f", {key['running']} running")
    return f"{key['key']}  {state}  {rate}, {parallel} at a time, {counts}"


def _form(options: argparse.Namespace) -> dict[str, Any]:
    given = {"rate": options.rate, "parallelism": options.parallelism}
    form: dict[str, Any] = {name: _number(value) for name, value in given.items() if value is not None}
    if options.period_seconds is not None:
        form["period_seconds"] = options.period_seconds
    if not form:
        raise NotReady("Give --rate or --parallelism.")
    return form


def _number(text: str) -> int | None:
    if text == _NONE:
        return None
    if not text.isdigit():
        raise NotReady(f"{text} is neither a number nor {_NONE}.")
    return int(text)
