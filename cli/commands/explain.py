"""Explain an item: its state, the reason for it, and what happens next.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final

from cli import ids
from cli.commands.down import place_arguments
from cli.service import service, service_arguments

Item = dict[str, Any]
_NEXT: Final = {
    "payments": {
        "PENDING": "It is executed at {scheduled_time}, and can be changed or cancelled until then.",
        "EXECUTING": "Another attempt follows, unless all attempts are used up: then redrive or cancel it.",
        "COMPLETED": "Nothing: the money moved {lateness_ms} ms after its instant.",
        "FAILED": "Nothing: no money moved. Schedule a new payment.",
        "CANCELLED": "Nothing: no money moved.",
    },
    "tasks": {
        "PENDING": "Its first attempt is due at {next_run_at}.",
        "RETRYING": "Attempt {following} of {most} is due at {next_run_at}.",
        "RUNNING": "Its attempt ends, or its lease does, and the next attempt follows.",
        "DEAD": "Nothing until a person redrives it: `postdate operations redrive {id} --reason ...`.",
        "ACTIVE": "Its next run is due at {next_run_at}.",
        "PAUSED": "Nothing until it is resumed.",
    },
    "operations": {
        "PLANNED": "Nothing until it is started: `postdate operations start {id}`.",
        "RUNNING": "It goes on with the items that wait.",
        "PAUSED": "It goes on once its canary has ended well.",
        "STOPPED": "Nothing until it is resumed: `postdate operations resume {id}`.",
    },
    "accounts": {
        "ACTIVE": "Money can come and go.",
        "FROZEN": "No money moves until it is unfrozen.",
    },
}
_ENDED: Final = "Nothing: it has ended."


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a payment, task, run, operation or account")
    service_arguments(parser)
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        return explained(options.id, api.get(ids.path(options.id)))


def show(answer: dict[str, Any]) -> str:
    lines = [f"{answer['id']} is {answer['state']}."]
    lines += [f"because: {answer['because']}"] if answer["because"] else []
    return "\n".join([*lines, f"next:    {answer['next']}", *(f"  {line}" for line in answer["history"])])


def explained(id: str, item: Item) -> dict[str, Any]:
    kind, state = ids.things(id), item.get("status") or item.get("state") or item.get("type")
    texts = _NEXT["tasks" if kind == "runs" else kind] if kind in (*_NEXT, "runs") else {}
    return {
        "id": id,
        "state": state,
        "because": _because(item),
        "next": texts.get(str(state), _ENDED).format(**_facts(id, item)),
        "history": _history(item),
    }


def _facts(id: str, item: Item) -> Item:
    attempts = item.get("attempts")
    made = len(attempts) if isinstance(attempts, list) else attempts or 0
    facts = {
        "next_run_at": item.get("next_run_at") or item.get("next_attempt_at"),
        "following": made + 1,
        "most": item["retry"]["max_attempts"] if "retry" in item else "its task's attempts",
    }
    return {**item, **facts, "id": id}


def _because(item: Item) -> str | None:
    """The first reason that the item gives. That of a state that was reached without one is in its newest line."""
    told = (item.get(name) for name in ("stopped_because", "error_message", "error", "reason"))
    last = item["history"][-1]["reason"] if item.get("history") else None
    return next((text for text in told if text), last)


def _history(item: Item) -> list[str]:
    lines = [f"{line['at']}  {line['status']:<10} {line['reason']}" for line in item.get("history", ())]
    attempts = item["attempts"] if isinstance(item.get("attempts"), list) else []
    return lines + [
        f"{each['started_at']}  attempt {each['number']}: {each['outcome']} {each['error'] or ''}".rstrip()
        for each in attempts
    ]
