"""Operations from the command line: planned first, started when asked, followed to their end."""

import argparse
import time
from collections.abc import Callable
from typing import Any, Final

from cli.progress import say
from cli.service import Service

PATH: Final = "/api/v1/operations"
ENDED: Final = frozenset({"PLANNED", "DONE", "STOPPED", "ABORTED"})
_ACTED: Final = ("sent", "done", "failed", "changed", "missing")
_COUNTS: Final = ("waiting", *_ACTED)
_LOOK_SECONDS: Final = 1.0
_FILTER: Final = {
    "status": "their state (that in which the action finds something)",
    "name": "their name",
    "tag": "one of their tags",
    "destination": "how the address of their destination begins",
    "failure": "their error without ids, as a plan tells it",
    "account": "either side of payments",
    "from": "first scheduled instant, such as 2026-11-18T10:00:00Z",
    "until": "the instant after the last",
}


def plan_arguments(parser: argparse.ArgumentParser) -> None:
    """The items, and how they are acted on. Without --start nothing is done to them."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="the items; or a filter")
    for name, text in _FILTER.items():
        parser.add_argument(f"--{name}", dest=f"filter_{name}", metavar=name.upper(), help=text)
    parser.add_argument(
        "--kind", choices=("tasks", "payments", "plans"), default="tasks", help="of the items (tasks)"
    )
    parser.add_argument("--reason", required=True, help="kept with the operation")
    parser.add_argument("--max-per-second", type=int, help="how many items at most (50)")
    parser.add_argument("--canary", type=int, help="how many go first, until they end well")
    parser.add_argument("--stop-at", type=float, metavar="SHARE", help="stop when this share failed: 0.3")
    parser.add_argument(
        "--within", type=int, default=60, metavar="SECONDS", help="of the newest attempts (60)"
    )
    parser.add_argument("--start", action="store_true", help="start it, and follow it to its end")


def planned(api: Service, action: str, options: argparse.Namespace) -> dict[str, Any]:
    """The plan, or with --start the operation after its end."""
    operation: dict[str, Any] = api.post(PATH, _form(action, options))
    if not options.start:
        return operation
    kind, count = operation.get("kind", "runs"), operation["eligible"]["count"]
    api.sure(f"{action.capitalize()} {count} {kind}?")
    return followed(api, api.post(f"{PATH}/{operation['operation_id']}/start", {}))


def followed(
    api: Service,
    operation: dict[str, Any],
    *,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Waits until the operation has ended or was stopped, and prints its progress and its rate since then."""
    began, before, told = clock(), _acted(operation), ""
    while operation["state"] not in ENDED:
        pause(_LOOK_SECONDS)
        operation = api.get(f"{PATH}/{operation['operation_id']}")
        if (line := _progress(operation)) != told:
            say(f"{line}{_rate(operation, _acted(operation) - before, clock() - began)}")
            told = line
    return operation


def line(operation: dict[str, Any]) -> str:
    """Formats an operation with its counts."""
    why = operation.get("stopped_because") or operation["reason"] or ""
    head = f"{operation['operation_id']}  {operation['action']} {operation.get('kind', 'runs')}"
    return f"{head}  {_progress(operation)}  {why}".rstrip()


def report(operation: dict[str, Any]) -> str:
    """An operation in several lines: which items it is for, which not, and what became of them."""
    eligible = operation["eligible"]
    amount = eligible.get("amount")
    lines = [line(operation), f"  eligible   {eligible['count']}" + (f", sum {amount}" if amount else "")]
    lines += [f"    {count:>6}  {name}" for name, count in eligible.get("by_failure", {}).items()]
    lines += [f"    {count:>6}  {name}" for name, count in eligible.get("by_destination", {}).items()]
    lines += [
        f"  left alone {each['count']:>6}  {each['reason']}" for each in operation.get("not_eligible", ())
    ]
    if operation["state"] == "PLANNED":
        lines.append(f"Start it with: postdate operations start {operation['operation_id']}")
    return "\n".join(lines)


def _progress(operation: dict[str, Any]) -> str:
    counts = [f"{operation[name]} {name}" for name in _COUNTS if operation.get(name)]
    return f"{operation['state']:<8} {', '.join(counts)}".rstrip()


def _acted(operation: dict[str, Any]) -> int:
    return sum(operation.get(name) or 0 for name in _ACTED)


def _rate(operation: dict[str, Any], acted: int, seconds: float) -> str:
    """The items a second of the last seconds, and how long those that wait take at that rate."""
    if acted <= 0 or seconds <= 0:
        return ""
    rate, waiting = acted / seconds, operation.get("waiting") or 0
    return f"; {rate:.1f} a second" + (f", about {waiting / rate:.0f} s left" if waiting else "")


def _form(action: str, options: argparse.Namespace) -> dict[str, Any]:
    filter = {
        "account_id" if name == "account" else name: value
        for name in _FILTER
        if (value := getattr(options, f"filter_{name}")) is not None
    }
    stop = None if options.stop_at is None else {"failed_share": options.stop_at, "within": options.within}
    given = {
        "action": action,
        "kind": options.kind,
        "ids": options.ids or None,
        "filter": filter or None,
        "reason": options.reason,
        "max_per_second": options.max_per_second,
        "canary": options.canary,
        "stop_when": stop,
    }
    return {name: value for name, value in given.items() if value is not None}
