"""Print a tenant's events as they are recorded, and forward them.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack. It ends when it is interrupted,
or after `--count` events.
"""

import argparse
import json
from itertools import islice
from typing import Any

from cli.commands.down import place_arguments
from cli.failure import NotReady
from cli.feed import Event, forward, live
from cli.service import service, service_arguments


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--types",
        action="append",
        default=[],
        metavar="TYPE",
        help="such as payment.failed or payment.* (all)",
    )
    parser.add_argument("--forward", metavar="URL", help="post each event there")
    parser.add_argument("--count", type=int, metavar="N", help="end after so many events")
    service_arguments(parser)
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    if options.forward and not options.forward.startswith(("http://", "https://")):
        raise NotReady("--forward takes an address that begins with http:// or https://")
    with service(options, local_key="api_key") as api:
        seen = 0
        for event in islice(live(api.get, options.types), options.count):
            seen += 1
            status = forward(event, options.forward) if options.forward else None
            print(json.dumps(event) if options.json else _line(event, status), flush=True)
    return {"events": seen}


def show(answer: dict[str, Any]) -> str:
    return f"{answer['events']} events"


def _line(event: Event, status: str | None) -> str:
    line = f"{event['recorded_at']}  {event['type']:<20}  {event['subject']['id']}  {event['event_id']}"
    return line if status is None else f"{line}  -> {status}"
