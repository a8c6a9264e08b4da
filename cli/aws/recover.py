"""Recovers what the deployed functions of an environment use, while they are stopped where money is concerned."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from cli.aws.functions import Functions
from cli.aws.restored import equipped
from cli.failure import Failure
from cli.recovery import MONEY, Recovery
from postdate.domain.errors import PostdateError
from postdate.runtime.clock import SystemClock


def recovered(
    functions: Functions,
    dynamodb: Any,
    *,
    since: datetime,
    restored: Iterable[str],
    first: datetime | None,
    dry: bool,
) -> dict[str, Any]:
    """Raises Failure; then the watermark was not put back, and what was mended is found mended next time."""
    clock, names = SystemClock(), frozenset(restored)
    if names & MONEY.keys():
        functions.check_stopped(clock.now())
    recovery = Recovery(
        settings=functions.settings(),
        dynamodb=dynamodb,
        clock=clock,
        restored=names,
        since=since,
        dry=dry,
    )
    try:
        answer = recovery.run(first=first)
    except PostdateError as error:
        raise Failure(f"{error} The watermark was not put back: begin again.") from error
    changes = [] if dry else list(equipped(dynamodb, functions.environment, sorted(names)))
    return answer | {"tables": changes}
