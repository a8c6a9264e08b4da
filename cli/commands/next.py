"""Tell what fires next: payments and tasks, in the order of their instants.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from cli.commands.down import place_arguments
from cli.service import Service, service, service_arguments

_USUAL: Final = 20
_MOST: Final = 100


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--count", type=int, default=_USUAL, choices=range(1, _MOST + 1), metavar="N", help="1 to 100 (20)"
    )
    service_arguments(parser)
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        found = [*_payments(api, options.count), *_once(api, options.count), *_plans(api, options.count)]
    return {"next": sorted(found, key=lambda each: str(each["at"]))[: options.count]}


def show(answer: dict[str, Any]) -> str:
    return (
        "\n".join(
            f"{each['at']}  {each['kind']:<8} {each['id']}  {each['text']}".rstrip()
            for each in answer["next"]
        )
        or "Nothing is planned."
    )


def _listed(api: Service, things: str, **asked: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/api/v1/{things}?{urlencode(asked)}")[things]
    return found


def _payments(api: Service, count: int) -> list[dict[str, Any]]:
    found = _listed(api, "payments", status="PENDING", order="asc", limit=count)
    return [
        {
            "at": each["scheduled_time"],
            "kind": "payment",
            "id": each["payment_id"],
            "text": f"{each['amount']} from {each['from_account_id']} to {each['to_account_id']}",
        }
        for each in found
    ]


def _once(api: Service, count: int) -> list[dict[str, Any]]:
    """Tasks that run once. Those that an attempt is left for come again at that attempt's instant."""
    found = [
        each
        for status in ("PENDING", "RETRYING")
        for each in _listed(api, "tasks", status=status, order="asc", limit=count)
        if "run_id" not in each and each["next_run_at"] is not None
    ]
    return [_task(each, "task", each["name"]) for each in found]


def _plans(api: Service, count: int) -> list[dict[str, Any]]:
    found = [
        each
        for each in _listed(api, "tasks", status="ACTIVE", limit=count)
        if each["next_run_at"] is not None and each["next_run_at"] >= _text(datetime.now(UTC))
    ]
    return [_task(each, "plan", f"{each['cron']} {each['timezone']} {each['name'] or ''}") for each in found]


def _task(given: dict[str, Any], kind: str, text: str | None) -> dict[str, Any]:
    return {"at": given["next_run_at"], "kind": kind, "id": given["task_id"], "text": (text or "").rstrip()}


def _text(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
