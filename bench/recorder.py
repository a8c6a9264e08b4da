"""recorder: a burst and a steady stream of payments with the recorder of events on and off, and the delay of events.

The recorder, the engine and all functions share two cores on a local stack. On AWS the recorder runs beside them.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

import boto3

from bench.bed import Bed
from bench.burst import burst
from bench.figures import ratio, spread
from bench.payment_burst import payments_spread
from bench.payment_steady import steady_one_by_one
from bench.plan import Plan
from bench.report import Line
from cli.client import Client
from cli.progress import step

_FUNCTION: Final = "postdate-local-record"
_EVENTS: Final = "/api/v1/events"
_RATE: Final = 50
_SETTLES_SECONDS: Final = 8


def recorder(bed: Bed, plan: Plan) -> Iterator[Line]:
    """First with the recorder, then without it. `ratio` of the last lines is the drain with the recorder by the drain
    without it, and their `p99_ms` the lateness that the recorder adds."""
    on = list(_measured(bed, plan, "recorder on"))
    yield from on
    yield from _delays(bed, plan)
    with _without_recorder(bed):
        off = list(_measured(bed, plan, "recorder off"))
    yield from off
    for with_it, without_it in zip(on, off, strict=True):
        yield _compared(with_it, without_it)


def _measured(bed: Bed, plan: Plan, how: str) -> Iterator[Line]:
    for line in chain(payments_spread(bed, plan), burst(bed, plan)):
        yield line | {"case": "recorder", "what": f"{line['what']}, {how}"}
    line = steady_one_by_one(bed, _RATE, plan.seconds)
    yield line | {"case": "recorder", "what": f"{line['what']}, {how}"}


def _compared(on: Line, off: Line) -> Line:
    drained_on, drained_off = on.get("drain_per_second"), off.get("drain_per_second")
    drained = {"ratio": ratio(drained_on, drained_off)} if drained_on and drained_off else {}
    return {
        "case": "recorder",
        "what": f"added by it: {on['what'].rpartition(',')[0]}",
        "p50_ms": round(on["p50_ms"] - off["p50_ms"], 1),
        "p99_ms": round(on["p99_ms"] - off["p99_ms"], 1),
        **drained,
    }


def _delays(bed: Bed, plan: Plan) -> Iterator[Line]:
    """Time from each change until a follower of the feed has its event. The follower asks again after each answer."""
    with _Follower(bed) as follower:
        steady_one_by_one(bed, _RATE, plan.seconds)
        follower.wait()
        yield _delay(f"events in the feed, {_RATE} payments a second", follower.taken())
        list(payments_spread(bed, plan))
        follower.wait()
        yield _delay(f"events in the feed, {plan.items} payments at one instant", follower.taken())


def _delay(what: str, delays_ms: list[float]) -> Line:
    return {"case": "recorder", "what": what, "count": len(delays_ms), **spread(delays_ms, 50, 99)}


class _Follower:
    """A thread that follows the feed and notes the delay of each event."""

    def __init__(self, bed: Bed) -> None:
        self._client: Client = bed.client()
        self._delays_ms: list[float] = []
        self._is_over = threading.Event()
        self._last_seen = time.monotonic()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> "_Follower":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._client.close()

    def wait(self) -> None:
        """Returns when no event has come for some seconds."""
        self._last_seen = time.monotonic()
        with step("waiting for the last events"):
            while time.monotonic() < self._last_seen + _SETTLES_SECONDS:
                time.sleep(0.5)

    def taken(self) -> list[float]:
        """The delays since the last call."""
        delays, self._delays_ms = self._delays_ms, []
        return delays

    def _follow(self) -> None:
        since = f"since={datetime.now(UTC).isoformat().replace('+00:00', 'Z')}"
        cursor = ""
        while not self._is_over.is_set():
            page: Any = self._client.get(f"{_EVENTS}?limit=100&wait_seconds=2&{since}{cursor}").expect(200)
            now = datetime.now(UTC)
            for event in page["events"]:
                self._delays_ms.append(
                    (now - datetime.fromisoformat(event["occurred_at"])).total_seconds() * 1000
                )
                self._last_seen = time.monotonic()
            if page["follow_cursor"]:
                cursor = f"&cursor={page['follow_cursor']}"


@contextmanager
def _without_recorder(bed: Bed) -> Iterator[None]:
    """Stops the mappings of all streams. The recorder makes up for it after the block."""
    _let_record(False)
    try:
        yield
    finally:
        _let_record(True)


def _let_record(enabled: bool) -> None:
    functions = boto3.client("lambda")
    for mapping in functions.list_event_source_mappings(FunctionName=_FUNCTION)["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)
