"""Tasks of many tenants and of one, and how their drains are compared."""

from collections import Counter
from datetime import UTC, datetime

from bench.tenants import planned, with_floor
from postdate.domain.due import Due, Via, pack
from postdate.domain.slots import ShardPlan

DUE_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
SHARDS = ShardPlan.parse("0=4")
TO = "http://127.0.0.1/queue"


def test_each_tenant_has_its_tasks_at_the_one_instant() -> None:
    found = planned(["a", "b", "c"], 5, TO, DUE_AT, SHARDS)
    assert Counter(task.tenant for task in found) == {"a": 5, "b": 5, "c": 5}
    assert {task.due_at for task in found} == {DUE_AT}
    assert len({task.id for task in found}) == 15


def test_tenants_come_by_turns() -> None:
    assert [task.tenant for task in planned(["a", "b"], 2, TO, DUE_AT, SHARDS)] == ["a", "b", "a", "b"]


def test_the_tasks_of_a_tenant_share_a_packet() -> None:
    many = planned([f"t{number}" for number in range(40)], 5, TO, DUE_AT, SHARDS)
    one = planned(["one"], 200, TO, DUE_AT, SHARDS)
    packets = [
        len(list(pack(((task.tenant, Due.of(task)) for task in each), Via.SWEEP))) for each in (many, one)
    ]
    assert packets == [40, 8]


def test_the_ratio_is_the_drain_by_its_floor() -> None:
    assert with_floor({"drain_per_second": 800.0}, 1000.0)["ratio"] == 0.8


def test_a_burst_that_did_not_drain_has_no_ratio() -> None:
    assert with_floor({"drain_per_second": None}, 1000.0)["ratio"] is None
    assert with_floor({"drain_per_second": 800.0}, None)["ratio"] is None
