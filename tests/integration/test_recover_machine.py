"""The machine `recover` over the engine's tables: both of its ways, with the real functions, to the end."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.operate.handler import handler as operate
from postdate.domain import instants
from postdate.domain.task_requests import TOKENS_AHEAD
from postdate.runtime.clock import SystemClock
from tests.integration.stores import Stores
from tests.integration.world import Client, Context, World
from tests.machine import Interpreted

SINCE = timedelta(minutes=5)


class Sweeping(SystemClock):
    """The sweep wakes up whenever the machine waits."""

    def __init__(self, wake_up: Callable[[], object]) -> None:
        self._wake_up = wake_up
        self.waits = 0

    def sleep_until(self, instant: datetime) -> None:
        self.waits += 1
        self._wake_up()


@pytest.mark.parametrize("restored", [[], ["items"]], ids=["lost calls", "restored"])
def test_recover_ends_when_the_sweep_has_caught_up(
    world: World, stores: Stores, client: Client, restored: list[str]
) -> None:
    def wake_up() -> None:
        assert world.sweep({"kind": "tick"}) == []

    # Each wake-up brings a minute one pass further: opened, then closed.
    for _ in range(3):
        wake_up()
    task = client.register(delay_seconds=100).body["task_id"]
    clock = Sweeping(wake_up)
    machine = Interpreted(
        name="recover", calls={"Operate": lambda event: operate(event, Context())}, clock=clock
    )
    since = (datetime.now(UTC) - SINCE).isoformat()
    machine.start("one", {"since": since, "from": since, "restored": restored})
    machine.run()
    assert machine.status["one"] == "SUCCEEDED"
    assert clock.waits > 1, "it looked before the sweep had caught up"
    assert (("RaiseTokens", "PutBack") in machine.walked) is (restored == ["items"])
    (row,) = rows(world, task)
    assert int(row.get("token", {"N": "0"})["N"]) == (TOKENS_AHEAD if restored else 0)
    mark = stores.passes.watermark()
    assert mark is not None
    now = instants.minute_of(datetime.now(UTC))
    closed = [each for each in stores.passes.between(now - 5, now - 3) if each.epoch == mark.epoch]
    assert len(closed) == 3


def rows(world: World, id: str) -> list[dict[str, Any]]:
    return [row for row in world.rows(world.tables["items"]) if row["id"] == {"S": id}]
