"""Print the events of one item: those of the past, and then each new one.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack. It ends when it is interrupted,
or after `--count` events.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import urlencode

from cli.commands.down import place_arguments
from cli.feed import PATH, WAIT_SECONDS, Event
from cli.service import service, service_arguments

_AT_ONCE: Final = 100


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a payment, task, run, account or operation")
    parser.add_argument("--count", type=int, metavar="N", help="end after so many events")
    service_arguments(parser)
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    seen = 0
    with service(options, local_key="api_key") as api:
        for event in islice(_of(api.get, options.id), options.count):
            seen += 1
            print(json.dumps(event) if options.json else _line(event), flush=True)
    return {"events": seen}


def show(answer: dict[str, Any]) -> str:
    return f"{answer['events']} events"


def _of(get: Callable[[str], Any], id: str) -> Iterator[Event]:
    asked = {"subject_id": id, "limit": str(_AT_ONCE), "wait_seconds": str(WAIT_SECONDS)}
    while True:
        page = get(f"{PATH}?{urlencode(asked)}")
        yield from page["events"]
        if page["follow_cursor"] is not None:
            asked["cursor"] = page["follow_cursor"]


def _line(event: Event) -> str:
    data = event["data"]
    changed = {name: [was, data["after"].get(name)] for name, was in (data.get("before") or {}).items()}
    by = f"{event['actor']['type']} {event['actor']['id']}"
    return f"{event['occurred_at']}  {event['type']:<20}  by {by}  {json.dumps(changed) if changed else ''}".rstrip()
