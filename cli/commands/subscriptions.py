"""Subscribe to events, list, pause, resume, test, replay and end subscriptions, and list their deliveries.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final

from cli.commands.down import place_arguments
from cli.service import change_arguments, service

PATH: Final = "/api/v1/subscriptions"
_STEPS: Final = {
    "show": "show one",
    "pause": "send nothing until it is resumed",
    "resume": "send again, and what was recorded meanwhile",
    "test": "send a test event",
    "rotate": "make a new secret and tell it once",
    "end": "end one for good",
    "deliveries": "list what was sent, the newest first",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    make = _action(chosen, "make", "send events to a URL, and tell the secret that signs them once")
    make.add_argument("url")
    make.add_argument("--types", required=True, help="types of events, separated by commas: payment.*")
    make.add_argument("--account", help="only events about this account")
    make.add_argument("--tag", help="only events of tasks with this tag")
    make.add_argument("--unordered", action="store_true", help="send each event at once")
    make.add_argument("--description")
    _action(chosen, "list", "list the subscriptions")
    for name, text in _STEPS.items():
        _action(chosen, name, text).add_argument("id")
    replay = _action(chosen, "replay", "send events of the past that were not sent, and those that failed")
    replay.add_argument("id")
    replay.add_argument("--since", required=True, metavar="INSTANT")
    replay.add_argument("--until", metavar="INSTANT")
    replay.add_argument("--only-failed", action="store_true", help="only those that failed")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        match options.action:
            case "make":
                return {"subscriptions": [api.post(PATH, _form(options))]}
            case "list":
                return {"subscriptions": api.every(PATH, "subscriptions")}
        path = f"{PATH}/{options.id}"
        match options.action:
            case "show":
                return {"subscriptions": [api.get(path)]}
            case "end":
                api.sure(f"End {options.id} for good?")
                return {"subscriptions": [api.delete(path)]}
            case "deliveries":
                return {"deliveries": api.get(f"{path}/deliveries?limit=100")["deliveries"]}
            case "test":
                return {"deliveries": [api.post(f"{path}/test", {})]}
            case "rotate":
                return {"secret": api.post(f"{path}/rotate", {})}
            case "replay":
                form = {"since": options.since, "only_failed": options.only_failed}
                form |= {"until": options.until} if options.until else {}
                return {"replay": api.post(f"{path}/replay", form)}
            case _:
                return {"subscriptions": [api.post(f"{path}/{options.action}", {})]}


def show(answer: dict[str, Any]) -> str:
    if "deliveries" in answer:
        return "\n".join(map(_delivery, answer["deliveries"])) or "Nothing was sent."
    if "secret" in answer:
        return f"secret, told only now: {answer['secret']['secret']}"
    if "replay" in answer:
        return f"The events since {answer['replay']['since']} follow."
    return "\n".join(map(_line, answer["subscriptions"])) or "There is no subscription."


def _form(options: argparse.Namespace) -> dict[str, Any]:
    asked = {"account_id": options.account, "tag": options.tag}
    return {
        "target": {"type": "webhook", "url": options.url},
        "types": options.types.split(","),
        "filter": {name: value for name, value in asked.items() if value is not None},
        "ordered": not options.unordered,
        "description": options.description,
    }


def _line(given: dict[str, Any]) -> str:
    target = given["target"].get("url") or given["target"]["type"]
    line = f"{given['subscription_id']}  {given['status']}  {','.join(given['types'])}  {target}"
    line += f"  ({given['reason']})" if given["reason"] else ""
    secret = given.get("secret")
    return f"{line}\n  secret, told only now: {secret}" if secret else line


def _delivery(given: dict[str, Any]) -> str:
    return f"{given['run_id']}  {given['status']}  {given['event_id'] or 'a test'}  {given['reason'] or ''}".rstrip()


def _action(chosen: Any, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    place_arguments(made)
    change_arguments(made)
    return made
