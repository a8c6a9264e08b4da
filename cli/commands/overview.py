"""Show how the items of the last hour fared, the queues, the sweep, what is held back and which alarms fire.

Speaks to the API of POSTDATE_URL with the operator's key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from datetime import UTC, datetime
from typing import Any, Final

from cli.alarms import firing_locally, firing_on_aws
from cli.clients import clients
from cli.commands.down import place_arguments
from cli.service import TENANT_HEADER, is_local, service, service_arguments
from infra.environments import ENVIRONMENTS, LOCAL

_MINUTES_SHOWN: Final = 15
_SPANS: Final = ("hour", "day", "week")
# The width of a sum.
_SUM: Final = 34
_NOTHING: Final = {"tasks": 0, "payments": 0, "amount": 0}
_QUEUE: Final = "  {queue:<14}{waiting:>9} waiting {in_flight:>7} in flight {delayed:>7} delayed"


def arguments(parser: argparse.ArgumentParser) -> None:
    service_arguments(parser, tenant=f"this tenant's own overview: sent as {TENANT_HEADER}")
    parser.add_argument("--env", choices=tuple(ENVIRONMENTS), help="also the alarms of this environment")
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="operator_key") as api:
        told: dict[str, Any] = api.get("/api/v1/overview" if options.tenant else "/api/v1/ops/overview")
    return told | {"firing": None if options.tenant else _firing(options)}


def show(answer: dict[str, Any]) -> str:
    lines = [f"{answer['at']}", *_minutes(answer["minutes"])]
    lines += _calendar(answer["calendar"])
    lines += [
        _QUEUE.format(**queue)
        + (f", the oldest for {age} s" if (age := queue["oldest_seconds"]) is not None else "")
        for queue in answer.get("queues", ())
    ]
    if sweep := answer.get("sweep"):
        lines.append(
            f"sweep: {'alive' if sweep['alive'] else 'NOT ALIVE'}, {sweep['behind_minutes']} minutes behind, "
            f"heartbeat at {sweep['heartbeat_at']}"
        )
    lines += [
        f"{each['state']} {each['tenant']} {each['type']} {each['address']}: {each['waiting']} waiting, "
        f"{each['last_error']}"
        for each in answer["destinations"]
    ]
    lines += [
        f"SWITCHED OFF {each['name']} since {each['off_at']}"
        if not each["on"]
        else f"CATCHING UP {each['name']} until {each['caught_up_at']}"
        for each in answer.get("switches", ())
    ]
    lines += [
        f"FAILING {each['name']} for {each['function']} since {each['since']}: {each['error']}"
        for each in answer.get("dependencies", ())
    ]
    if night := answer.get("reconciliation"):
        told = ", ".join(f"{check} {count}" for check, count in night["by_check"].items())
        lines.append(
            f"reconciliation {night['reconciliation_id']} at {night['finished_at']}: "
            f"{told or 'right'}, {night['to_approve']} repairs to approve"
        )
    lines += [f"PAUSED {each['tenant']} flow key {each['key']}" for each in answer["paused_flow_keys"]]
    lines += [
        f"{each['severity'].upper()} {each['alarm']}: {each['meaning']}" for each in answer["firing"] or ()
    ]
    return "\n".join(lines)


def _calendar(calendar: dict[str, Any]) -> list[str]:
    """Lines for the items to come: those of all tenants, and of each tier that has some."""
    tiers = [(each["tier"], each) for each in calendar.get("tiers", ()) if each["next_week"] != _NOTHING]
    lines = ["due in the next" + "".join(f"{span:>{_SUM}}" for span in _SPANS)]
    for name, sums in [("all", calendar), *tiers]:
        told = "".join(f"{_due(sums[f'next_{span}']):>{_SUM}}" for span in _SPANS)
        lines.append(f"  {name:<13}{told}")
    return lines


def _due(due: dict[str, int]) -> str:
    return f"{due['tasks']} tasks, {due['payments']} payments ({due['amount']})"


def _minutes(minutes: list[dict[str, Any]]) -> list[str]:
    """Lines for the newest minutes in which an item was due, or which the sweep has not closed in time."""
    lines = [f"{'':<26}{'due':>8}{'done':>8}{'failed':>8}{'retried':>8}{'p50 ms':>8}{'p99 ms':>8}"]
    for each in minutes[-_MINUTES_SHOWN:]:
        for kind in ("tasks", "payments"):
            figures = each[kind]
            if figures is not None and figures["due"]:
                numbers = [figures[name] for name in ("due", "done", "failed", "retried")]
                late = [figures[f"lateness_{share}_ms"] for share in ("p50", "p99")]
                told = "".join(f"{'-' if number is None else number:>8}" for number in (*numbers, *late))
                lines.append(f"{each['minute'][:16]} {kind:<9}{told}")
        if not each["counted"]:
            lines.append(f"{each['minute'][:16]} not counted yet")
    return lines


def _firing(options: argparse.Namespace) -> list[dict[str, str]] | None:
    """The alarms that fire now; None if nobody says which environment the API belongs to."""
    if options.env is None and not is_local(options):
        return None
    environment = ENVIRONMENTS[options.env or LOCAL.name]
    with clients(environment, options.port) as client:
        if environment.watched:
            return firing_on_aws(environment, client)
        return firing_locally(environment, client, datetime.now(UTC))
