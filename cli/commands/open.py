"""Open the console, at an item if one is named.

The address is that of the profile, of POSTDATE_URL, or of the local stack.
"""

import argparse
import webbrowser
from typing import Any
from urllib.parse import quote

from cli import ids
from cli.commands.down import place_arguments
from cli.service import address


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="a payment, task, run, operation, event or account")
    parser.add_argument("--print", action="store_true", dest="only_print", help="only print the address")
    parser.add_argument("--profile", metavar="NAME", help="the service whose console it is")
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    at = f"#/{ids.things(options.id)}/{quote(options.id, safe='')}" if options.id else ""
    url = f"{address(options)}/console{at}"
    return {"url": url, "opened": not (options.only_print or options.json) and webbrowser.open(url)}


def show(answer: dict[str, Any]) -> str:
    url: str = answer["url"]
    return url
