"""Show an operator the dead letters of all tenants, as groups of one failure and destination or one by one.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final

from cli.commands.down import place_arguments
from cli.service import service, service_arguments

PATH: Final = "/api/v1/ops/dlq"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queue", choices=("tasks", "payments"))
    parser.add_argument("--each", action="store_true", help="each letter instead of groups")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="at most so many letters (20)")
    service_arguments(parser)
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    asked = f"limit={options.limit}" if options.each else "group=failure"
    with service(options, local_key="operator_key") as api:
        answer: dict[str, Any] = api.get(f"{PATH}/{options.queue}?{asked}")
        return answer


def show(answer: dict[str, Any]) -> str:
    lines = [
        f"{each['count']:>6}  {each['failure']}  {each['destination'] or ''}  oldest {each['oldest']}"
        for each in answer.get("groups", ())
    ]
    lines += [
        f"{each['item_id'] or each['letter_id']}  {each['tenant'] or ''}  {each['status'] or ''}  "
        f"{each['age_seconds']} s old  {each['failure']}"
        for each in answer.get("letters", ())
    ]
    return "\n".join(lines) or "There is no dead letter."
