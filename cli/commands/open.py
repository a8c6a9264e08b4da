"""Open the console, at an item if one is named.

The address is that of POSTDATE_URL, or of the local stack.
"""

import argparse
import os
import webbrowser
from typing import Any
from urllib.parse import quote

from cli import ids
from cli.commands.down import place_arguments
from cli.failure import NotReady
from cli.local.place import Place
from cli.local.stack import saved
from cli.service import URL


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="a payment, task, run, operation, event or account")
    parser.add_argument("--print", action="store_true", dest="only_print", help="only print the address")
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    at = f"#/{ids.things(options.id)}/{quote(options.id, safe='')}" if options.id else ""
    url = f"{_base(options)}/console{at}"
    return {"url": url, "opened": not (options.only_print or options.json) and webbrowser.open(url)}


def show(answer: dict[str, Any]) -> str:
    url: str = answer["url"]
    return url


def _base(options: argparse.Namespace) -> str:
    if url := os.environ.get(URL):
        return url.rstrip("/")
    place = Place.of(options.port, os.environ)
    if (stack := saved(place)) is None:
        raise NotReady(f"Set {URL}, or start a local stack with `{place.starts_it}`.")
    return stack.api_url
