"""The answers about flow keys."""

from datetime import datetime
from typing import Annotated

from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, described
from functions.api.forms import text_of
from postdate.domain.flow_key import Used


class FlowKey(TypedDict):
    key: str
    rate: Annotated[int | None, described("Pinned over what tasks say; null where each task's own counts.")]
    period_seconds: Annotated[int, described("Of the pinned rate.")]
    parallelism: Annotated[
        int | None, described("Pinned over what tasks say; null where each task's own counts.")
    ]
    paused: bool
    paused_at: Instant | None
    waiting: Annotated[
        Count,
        described(
            "Of a paused key: runs that were put off since, those that were cancelled meanwhile included. Otherwise "
            "about as many as have a place or a turn to come."
        ),
    ]
    running: Annotated[int | None, described("Runs that are on; null if the key has no parallelism.")]
    version: Annotated[Count, described("One more with each change; 0 if nothing was ever set.")]


class FlowKeyList(TypedDict):
    flow_keys: list[FlowKey]
    next_cursor: Cursor


def of(key: str, used: Used, now: datetime) -> FlowKey:
    return {
        "key": key,
        "rate": used.key.rate,
        "period_seconds": used.key.period_seconds,
        "parallelism": used.key.parallelism,
        "paused": used.key.paused_at is not None,
        "paused_at": text_of(used.key.paused_at),
        "waiting": used.waiting(now),
        "running": used.running(now),
        "version": used.key.version,
    }
