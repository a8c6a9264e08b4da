"""Explain an item: its state, the reason for it, what happens next, and what holds it back.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from datetime import UTC, datetime
from typing import Any, Final

from cli import ids
from cli.commands.down import place_arguments
from cli.explanation import Beside, Item, explained, kind_of
from cli.failure import Failure
from cli.service import Service, service, service_arguments

_WAITING: Final = frozenset({"PENDING", "RETRYING"})


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a payment, task, run, operation, subscription, event or account")
    service_arguments(parser)
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        item = api.get(ids.path(options.id))
        return explained(options.id, item, _beside(api, options.id, item), now=datetime.now(UTC))


def show(answer: dict[str, Any]) -> str:
    lines = [f"{answer['id']} is {answer['state']}."]
    lines += [f"because: {answer['because']}"] if answer["because"] else []
    lines.append(f"next:    {answer['next']}")
    lines += [f"held:    {text}" for text in answer["held"]]
    return "\n".join([*lines, *(f"  {line}" for line in answer["history"])])


def _beside(api: Service, id: str, item: Item) -> Beside:
    """Reads what explains the item's state, and nothing else."""
    things, kind, state = ids.things(id), kind_of(id, item), item.get("status")
    if kind == "payments":
        trail = _read(api, f"{ids.path(id)}/events")
        return Beside(events=trail["events"] if trail else [])
    if kind != "tasks":
        return Beside()
    is_run = things == "runs"
    return Beside(
        task=_read(api, f"/api/v1/tasks/{item['task_id']}") if is_run else None,
        run=_read(api, f"/api/v1/runs/{id}") if state == "RUNNING" and not is_run else None,
        overview=_read(api, "/api/v1/overview") if state in _WAITING else None,
    )


def _read(api: Service, path: str) -> Item | None:
    """None if the key may not read it, or there is no such thing (a delivery's task is its subscription)."""
    try:
        answer: Item = api.get(path)
    except Failure:
        return None
    return answer
