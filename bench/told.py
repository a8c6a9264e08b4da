"""Metrics in the log of the settling function, read after the run."""

import json
from collections.abc import Iterator
from typing import Any, Final

from bench.bed import Bed

_LOG: Final = "/aws/lambda/postdate-local-settle"
_METRIC: Final = "PaymentLateness"


def answered_ms(bed: Bed, since_ms: float) -> list[float]:
    """Delay from each payment's instant to the answer of its commit, for payments settled since then."""
    pages = bed.logs.get_paginator("filter_log_events").paginate(logGroupName=_LOG, startTime=int(since_ms))
    messages = (event["message"] for page in pages for event in page["events"])
    return [lateness for message in messages for lateness in of_metric(message)]


def of_metric(message: str) -> Iterator[float]:
    """A line of the log is a metric, or something else, which is nothing."""
    if f'"{_METRIC}"' not in message:
        return
    told: dict[str, Any] = json.loads(message)
    yield from map(float, told[_METRIC])
