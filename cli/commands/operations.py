"""Plan, start, follow, stop and resume actions on many items.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final

from cli import operations
from cli.commands.down import place_arguments
from cli.operations import PATH
from cli.service import change_arguments, service

_PLANS: Final = {
    "redrive": "begin the attempts of dead tasks, or of parked payments, anew",
    "retry": "one attempt now, also of tasks that wait",
    "cancel": "cancel what has not begun",
    "discard": "delete the letters of dead tasks, which stay dead",
}
# `resume` alone is a step of an operation.
_OF_PLANS: Final = {
    "pause-plans": ("pause", "pause recurring tasks"),
    "resume-plans": ("resume", "resume recurring tasks that are paused"),
}
_STEPS: Final = {
    "start": "start a plan and follow it",
    "stop": "stop one before its next items",
    "resume": "resume one that was stopped or killed",
    "show": "show one with its items",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    for name, text in _PLANS.items():
        operations.plan_arguments(_action(chosen, name, text))
    for name, (_, text) in _OF_PLANS.items():
        made = _action(chosen, name, text)
        operations.plan_arguments(made)
        made.set_defaults(kind="plans")
    for name, text in _STEPS.items():
        _action(chosen, name, text).add_argument("operation_id")
    _action(chosen, "list", "list the tenant's operations, the newest first")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        match options.action:
            case "list":
                return {"operations": api.every(PATH, "operations")}
            case "show":
                path = f"{PATH}/{options.operation_id}"
                return {"operation": api.get(path), "items": api.every(f"{path}/items", "items")}
            case "stop":
                return {"operation": api.post(f"{PATH}/{options.operation_id}/stop", {})}
            case "start" | "resume":
                api.sure(f"{options.action.capitalize()} {options.operation_id}?")
                begun = api.post(f"{PATH}/{options.operation_id}/{options.action}", {})
                return {"operation": operations.followed(api, begun)}
            case _:
                action, _ = _OF_PLANS.get(options.action, (options.action, ""))
                return {"operation": operations.planned(api, action, options)}


def show(answer: dict[str, Any]) -> str:
    if "operations" in answer:
        return "\n".join(map(operations.line, answer["operations"])) or "There is no operation."
    lines = [operations.report(answer["operation"])]
    lines += [f"  {item['item_id']}  {item['outcome']}" for item in answer.get("items", ())]
    return "\n".join(lines)


def _action(chosen: Any, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    place_arguments(made)
    change_arguments(made)
    return made
