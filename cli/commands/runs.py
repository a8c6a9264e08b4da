"""List the runs of recurring tasks, the latest first.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final
from urllib.parse import urlencode

from cli.actions import action
from cli.service import service

PATH: Final = "/api/v1/runs"
_USUAL: Final = 20
_PAGE_MAX: Final = 100


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    made = action(chosen, "list", "list them")
    made.add_argument("--status", help="only runs in this state, for example DEAD")
    made.add_argument("--task-id", help="only runs of this recurring task")
    made.add_argument("--from", metavar="INSTANT", help="only runs planned at this instant or later")
    made.add_argument("--until", metavar="INSTANT", help="only runs planned before this instant")
    made.add_argument("--order", choices=["asc", "desc"], help="asc lists the earliest first")
    made.add_argument("--count", type=int, default=_USUAL, metavar="N", help=f"at most so many ({_USUAL})")


def run(options: argparse.Namespace) -> dict[str, Any]:
    names = ("status", "task_id", "from", "until", "order")
    asked = {name: vars(options)[name] for name in names if vars(options)[name] is not None}
    found: list[dict[str, Any]] = []
    with service(options, local_key="api_key") as api:
        while True:
            limit = min(_PAGE_MAX, options.count - len(found))
            page = api.get(f"{PATH}?{urlencode({'limit': limit, **asked})}")
            found += page["runs"]
            if page["next_cursor"] is None or len(found) >= options.count:
                return {"runs": found, "next_cursor": page["next_cursor"]}
            asked["cursor"] = page["next_cursor"]


def show(answer: dict[str, Any]) -> str:
    return "\n".join(map(_line, answer["runs"])) or "No run fits."


def _line(each: dict[str, Any]) -> str:
    late = "" if each["lateness_ms"] is None else f"  {each['lateness_ms']} ms late"
    why = f"  {each['reason']}" if each["reason"] else ""
    return f"{each['planned_at']}  {each['status']:<9} {each['run_id']}  of {each['task_id']}{late}{why}"
