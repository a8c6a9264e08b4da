"""Add, list, use and remove profiles: names for the address and the key of a service.

A command uses `--profile`, else POSTDATE_URL and POSTDATE_KEY, else POSTDATE_PROFILE, else the profile in use, else
the local stack. The profile `local` is the local stack.
"""

import argparse
import getpass
import os
import sys
from dataclasses import replace
from typing import Any, Final

from cli import profiles
from cli.failure import NotReady
from cli.profiles import LOCAL, Profile
from cli.service import KEY

_NAME: Final = "such as prod"


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    add = _action(chosen, "add", f"add or replace a profile; its key is that of {KEY}, or is asked for")
    add.add_argument("name", help=_NAME)
    add.add_argument("--url", required=True, help="the address of the API")
    add.add_argument("--tenant", help="the tenant that an operator's key acts for")
    _action(chosen, "list", "list the profiles, without their keys")
    for name, text in {"use": "use it from now on", "remove": "forget it and its key"}.items():
        _action(chosen, name, text).add_argument("name", help=_NAME)


def run(options: argparse.Namespace) -> dict[str, Any]:
    before = profiles.read()
    match options.action:
        case "add":
            if options.name == LOCAL:
                raise NotReady(f"The profile {LOCAL} is the local stack. Choose another name.")
            made = Profile(url=options.url.rstrip("/"), key=_key(), tenant=options.tenant)
            after = replace(before, known={**before.known, options.name: made})
        case "use":
            if options.name != LOCAL:
                before.named(options.name)
            after = replace(before, current=None if options.name == LOCAL else options.name)
        case "remove":
            before.named(options.name)
            current = None if before.current == options.name else before.current
            known = {name: each for name, each in before.known.items() if name != options.name}
            after = replace(before, current=current, known=known)
        case _:
            after = before
    if after != before:
        profiles.write(after)
    told = [{"name": LOCAL, "url": None, "tenant": None, "in_use": after.current is None}]
    told += [
        {"name": name, "url": each.url, "tenant": each.tenant, "in_use": name == after.current}
        for name, each in sorted(after.known.items())
    ]
    return {"profiles": told}


def show(answer: dict[str, Any]) -> str:
    return "\n".join(
        f"{'*' if each['in_use'] else ' '} {each['name']:<12} {each['url'] or 'the local stack'}"
        + (f" for {each['tenant']}" if each["tenant"] else "")
        for each in answer["profiles"]
    )


def _key() -> str:
    """Never an argument: other users of the machine can read those."""
    if key := os.environ.get(KEY):
        return key
    if sys.stdin.isatty():
        return getpass.getpass("API key: ").strip()
    if key := sys.stdin.readline().strip():
        return key
    raise NotReady(f"Set {KEY}, or write the key to standard input.")


def _action(chosen: Any, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = chosen.add_parser(name, help=text, description=text)
    made.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="answer in JSON")
    return made
