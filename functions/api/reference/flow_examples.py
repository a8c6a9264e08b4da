"""Answers about flow keys and destinations, made by what makes them: a paused key, and a host that is down."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.destinations import answers as destinations
from functions.api.flow_keys import answers as flow_keys
from postdate.domain import breaker
from postdate.domain.breaker import Breaker
from postdate.domain.flow_key import FlowKey, Used

_NOW: Final = datetime(2026, 11, 18, 10, 6, 20, 117_000, tzinfo=UTC)


def answers() -> dict[str, Any]:
    key = FlowKey(rate=5, period_seconds=60, paused_at=_NOW - timedelta(minutes=3), waiting=14, version=4)
    told = flow_keys.of("mail", Used(key=key), _NOW)
    down = breaker.failed(Breaker(), 10, now=_NOW - timedelta(seconds=4), error="connection refused")
    destination = destinations.of("webhook:hooks.example.com", down, _NOW)
    return {
        "FlowKey": told,
        "FlowKeyList": {"flow_keys": [told], "next_cursor": None},
        "Destination": destination,
        "DestinationList": {"destinations": [destination], "next_cursor": None},
    }
