"""The calls of what was just written: sent at once if the sweep may have been there already."""

from collections.abc import Iterable
from datetime import datetime

from postdate.domain.due import Due, Via, pack
from postdate.domain.errors import Unavailable
from postdate.domain.item import Item
from postdate.domain.sweeping import Horizon
from postdate.runtime.observability import logger
from postdate.runtime.queue import Queue


def send(items: Iterable[Item], *, queue: Queue, horizon: Horizon, now: datetime) -> None:
    """Sends the calls of items that are written. A call that cannot be sent now is left to the closing pass of the
    sweep."""
    near = [(item.tenant, Due.of(item)) for item in items if horizon.reaches(item.due_at, now)]
    try:
        queue.send(pack(near, Via.REGISTRATION))
    except Unavailable as error:
        logger.warning(
            "calls were not sent and follow in the closing pass",
            extra={"action": "call_not_sent", "items": len(near), "reason": str(error)},
        )
