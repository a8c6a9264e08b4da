"""Reads of a dry run: they grow with what the filter names, and not with what is stored.

`STORED=100000` in the environment stores so many tasks. DynamoDB Local answers a query in the time of its rows; the
other engine lists a whole partition first.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice
from typing import Any, Final

import pytest
from botocore import handlers

from postdate.domain.task import Destination, State, Task
from postdate.stores import task_row
from tests.boundary import Boundary
from tests.integration.stores import NOW
from tests.integration.world import Client, World
from tests.unit.doubles import a_task, in_state

FITTING: Final = 40
STORED: Final = int(os.environ.get("STORED", "2000"))
_READS: Final = frozenset({"Query", "GetItem", "BatchGetItem"})
_AT_ONCE: Final = 25
_BROKEN: Final = "https://broken.example.com/hook"


@dataclass
class Reads:
    """Read units and rows of every call while it counts."""

    counts: bool = False
    units: float = 0.0
    rows: int = 0
    calls: Counter[str] = field(default_factory=Counter)

    def before(self, params: dict[str, Any], model: Any, **_: object) -> None:
        if self.counts and model.name in _READS:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def after(self, parsed: dict[str, Any], model: Any, **_: object) -> None:
        if not self.counts or model.name not in _READS:
            return
        if any(name.endswith("switches") for name in parsed.get("Responses", {})):
            # A worker reads the switches again when its reading is old, whatever it works on.
            return
        taken = parsed.get("ConsumedCapacity") or []
        self.units += sum(each["CapacityUnits"] for each in (taken if isinstance(taken, list) else [taken]))
        self.rows += parsed.get("ScannedCount", 0) + sum(map(len, parsed.get("Responses", {}).values()))
        self.calls[model.name] += 1


READS: Final = Reads()
_every_client: list[Any] = handlers.BUILTIN_HANDLERS
_every_client += [
    ("provide-client-params.dynamodb", READS.before),
    ("after-call.dynamodb", READS.after),
]


def stored(tenant: str, count: int) -> Iterator[Task]:
    """Forty dead tasks of one destination in one hour. Of the others nine of ten wait, over months, and the rest died
    on other days."""
    broken = Destination(type="webhook", address=_BROKEN)
    for number in range(count):
        far = timedelta(days=2 + number % 100, seconds=number)
        if number < FITTING:
            task = a_task(number, due_at=NOW - timedelta(minutes=1 + number), destination=broken)
            task = in_state(State.DEAD, task)
        elif number % 10:
            task = a_task(number, due_at=NOW + far)
        else:
            task = in_state(State.DEAD, a_task(number, due_at=NOW - far, destination=broken))
        yield replace(task, tenant=tenant)


def store(world: World, tasks: Iterator[Task]) -> None:
    while some := list(islice(tasks, _AT_ONCE)):
        puts = [
            {
                "PutRequest": {
                    "Item": task_row.attributes_of(each, listing_shards=2, retention=timedelta(days=3650))
                }
            }
            for each in some
        ]
        world.dynamodb.batch_write_item(RequestItems={world.tables["items"]: puts})


def asked(client: Client) -> tuple[Reads, float, dict[str, Any]]:
    """A dry run, its reads and its seconds."""
    form = {
        "action": "redrive",
        "kind": "tasks",
        "reason": "the receiver is back",
        "filter": {
            "destination": _BROKEN,
            "from": (NOW - timedelta(hours=1)).isoformat(),
            "until": NOW.isoformat(),
        },
    }
    READS.counts, READS.units, READS.rows = True, 0.0, 0
    READS.calls.clear()
    began = time.monotonic()
    try:
        answer = client.call("POST", "/api/v1/operations", form)
    finally:
        READS.counts = False
    assert answer.status == 202, answer.body
    return replace(READS), time.monotonic() - began, answer.body


def test_a_filter_that_fits_forty_reads_as_much_of_many_as_of_few(
    world: World, boundary: Boundary, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for name, count in (("few", 100), ("many", STORED)):
        client = world.tenant(f"reads-{name}")
        store(world, stored(client.tenant, count))
        operator = Client(tenant=client.tenant, scopes="tasks:read tasks:write operations:write")
        reads, seconds, body = asked(operator)
        assert body["eligible"]["count"] == FITTING
        # Rows of keys and tenants are cached for a while.
        del reads.calls["GetItem"]
        found[name] = (reads.units, reads.rows, dict(reads.calls))
        with capsys.disabled():
            print(f"\n{count} tasks stored: {reads.units} read units, {reads.rows} rows, {seconds:.3f} s")
    (units, *few), (of_many, *many) = found["few"], found["many"]
    assert few == many
    # Rounded up for each key of a list, whose entries are not divided in the same way.
    assert of_many <= units + 4
    # Each item's entry in its list, and its row.
    assert many[0] == 2 * FITTING
