"""Show the parameters of an environment, change them without a deployment, and take a change back.

docs/parameters.md lists the parameters. A document that is wrong is refused with its line, and nothing goes out.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cli.asking import sure
from cli.clients import clients
from cli.commands.down import place_arguments
from cli.failure import Failure
from cli.progress import say
from infra.environment import Environment
from infra.environments import ENVIRONMENTS


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    _action(
        chosen,
        "show",
        "show the parameters and the deployments of the last changes, and record those as events",
    )
    compare = _action(chosen, "diff", "show what a document would change, or what the last change did")
    compare.add_argument("--file", type=Path, help="the document; without it, the last change")
    change = _action(chosen, "set", "check a document and deploy it")
    change.add_argument(
        "values", nargs="*", metavar="NAME=VALUE", help="one parameter, such as registering.batch_max=50"
    )
    change.add_argument("--file", type=Path, help="the whole document, in JSON")
    change.add_argument("--at-once", action="store_true", help="to all copies at once, not step by step")
    for each in (change, _action(chosen, "rollback", "take the last change back, at once")):
        each.add_argument("--reason", required=True, help="kept with the deployment")
        each.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
        each.add_argument("--yes", action="store_true", help="do not ask before the change")


def run(options: argparse.Namespace) -> dict[str, Any]:
    from cli.parameter_store import ParameterStore  # slow to import

    environment = ENVIRONMENTS[options.env]
    with clients(environment, options.port) as client:
        store = ParameterStore(environment, client)
        if options.action == "diff":
            return _differences(*_compared(options, store))
        if options.action in ("set", "rollback"):
            before = store.deployed()[1]
            after = _document(options, before) if options.action == "set" else store.before()
            changes = _differences(before, after)
            if options.dry_run:
                return changes
            sure(f"{show(changes)}\nChange {len(changes['changes'])} parameters?", yes=options.yes)
        if options.action == "set":
            store.deploy(after, why=options.reason, at_once=options.at_once)
            _teller(environment, client, store).tell()
        elif options.action == "rollback":
            newest = store.roll_back(why=options.reason)
            stopped = options.reason if newest.taken_back_at is not None else None
            _teller(environment, client, store).tell(taken_back_because=stopped)
        else:
            _tell_what_alarms_took_back(environment, client, store)
        return _shown(environment.name, *store.deployed(), store.history())


def show(answer: dict[str, Any]) -> str:
    if "changes" in answer:
        lines = [f"{name}: {was} -> {becomes}" for name, (was, becomes) in answer["changes"].items()]
        return "\n".join(lines) or "Nothing differs."
    lines = [f"Parameters of {answer['environment']}"]
    lines += [
        f"  {name:32} {told['value']}"
        + ("" if told["value"] == told["default"] else f"  (default {told['default']})")
        for name, told in answer["parameters"].items()
    ]
    lines += [
        f"{each['began_at']}  {each['state']} {each['percent']:g} %  version {each['version']}  {each['why']}"
        for each in answer["deployments"]
    ]
    return "\n".join(lines)


def _tell_what_alarms_took_back(environment: Environment, client: Callable[[str], Any], store: Any) -> None:
    """No command is told of an alarm that takes a change back, so each look tells the recorder. The parameters are
    shown although it cannot be reached, or may not be called."""
    try:
        _teller(environment, client, store).tell()
    except Failure as error:
        say(str(error))


def _teller(environment: Environment, client: Callable[[str], Any], store: Any) -> Any:
    from cli.parameter_events import Teller

    return Teller(store=store, lambdas=client("lambda"), function=environment.named("record"))


def _shown(environment: str, newest: Any, document: dict[str, Any], history: list[Any]) -> dict[str, Any]:
    from cli.parameter_events import at
    from cli.parameters import described

    return {
        "environment": environment,
        "deployed": None if newest is None else asdict(newest),
        "document": document,
        "parameters": {
            name: {"value": at(document, name, rules["usual"]), "default": rules["usual"]}
            for name, rules in described()
        },
        "deployments": [asdict(each) for each in history],
    }


def _compared(options: argparse.Namespace, store: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The deployed document and the one of the file; without a file, the documents of the last change."""
    from cli.parameters import checked

    if options.file is None:
        return store.replaced(), store.deployed()[1]
    return store.deployed()[1], checked(options.file.read_text(encoding="utf-8"))


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Each parameter that differs, with its value before and after."""
    from cli.parameter_events import values

    was, becomes = values(before), values(after)
    return {"changes": {name: [was[name], becomes[name]] for name in was if was[name] != becomes[name]}}


def _document(options: argparse.Namespace, deployed: dict[str, Any]) -> dict[str, Any]:
    from cli.parameters import checked

    if bool(options.values) is (options.file is not None):
        raise Failure("Give either NAME=VALUE or --file.")
    if options.file is not None:
        return checked(options.file.read_text(encoding="utf-8"))
    document: dict[str, Any] = json.loads(json.dumps(deployed))
    for each in options.values:
        name, sign, text = each.partition("=")
        if not sign:
            raise Failure(f"{each!r} is not NAME=VALUE")
        section = document
        *path, last = name.split(".")
        for part in path:
            section = section.setdefault(part, {})
        section[last] = _value(text)
    return document


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _action(chosen: Any, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    made.add_argument("--env", default="local", choices=tuple(ENVIRONMENTS), help="the environment (local)")
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    place_arguments(made)
    return made
