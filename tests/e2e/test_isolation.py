"""What one tenant's destinations do to another tenant, and what an outage does to its own tenant's tasks.

The sizes are small, so that all tests together stay short; the figures in the documentation are from runs with
POSTDATE_FLOW_SIZES=full. How late is for a quiet machine to say: on a busy one the bounds are wider, and far below what
a single destination that hangs did before.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Final

import pytest

from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver, receiving
from tests.e2e.test_flow import FULL, ahead, arrived, form, percentile, register

COUNT: Final = 100
SPAN: Final = 10
MOVED_MS_MAX: Final = 100 if FULL else 1000


@pytest.fixture(scope="module")
def hanging() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture(scope="module")
def alone(stack: RunningStack, receiver: Receiver) -> list[float]:
    return steady(stack, receiver)


def steady(stack: RunningStack, receiver: Receiver, *, begin: datetime | None = None) -> list[float]:
    """How late a hundred webhooks of the other tenant are, in milliseconds."""
    start = begin or ahead(6)
    due = [start + timedelta(seconds=SPAN * place / COUNT) for place in range(COUNT)]
    forms = [form(receiver.url, at) for at in due]
    ids = register(stack.client(stack.other_tenant_key), forms)
    found = arrived(receiver, set(ids), seconds=SPAN + 60)
    assert len(found) == COUNT
    return [1000 * (found[id] - at.timestamp()) for id, at in zip(ids, due, strict=True)]


def told(what: str, alone: list[float], beside: list[float]) -> float:
    """By how much the 99th percentile has moved."""
    first, second = ([percentile(each, 50), percentile(each, 99), max(each)] for each in (alone, beside))
    print(
        f"{what}: p50, p99, most alone {[f'{ms:.1f}' for ms in first]} ms, beside {[f'{ms:.1f}' for ms in second]} ms"
    )
    return second[1] - first[1]


def test_webhooks_that_hang_make_no_other_tenant_late(
    stack: RunningStack, receiver: Receiver, hanging: Receiver, alone: list[float]
) -> None:
    """60 of them, which accept and never answer, begin while the other tenant's hundred do. Each is due at once when it
    is registered, so that each comes in a message of its own and would keep a worker of its own."""

    def hang() -> None:
        client = stack.client()
        for _ in range(60):
            target = {"type": "webhook", "url": f"{hanging.url}/hangs"}
            client.post(
                "/api/v1/tasks", {"delay_seconds": 0, "target": target, "timeout_seconds": 40}
            ).expect(201)
            time.sleep(0.15)

    with ThreadPoolExecutor(1) as registering:
        hangs = registering.submit(hang)
        beside = steady(stack, receiver)
        hangs.result()
    assert len(hanging.arrivals) >= 12
    assert told("60 webhooks that hang", alone, beside) < MOVED_MS_MAX
