"""An operator sees what an erasure would do before it begins, and how far it is while it lasts."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from functions.api.wiring import wired
from functions.erase import handler as erase
from postdate.domain import erasing
from postdate.runtime.dead_letters import SqsLetters
from tests.integration.test_erasure import (
    TENANTS,
    Tomorrow,
    begun,
    filled,
    machine,
    neighbour,
    operator_of,
    ran,
    sums,
)
from tests.integration.test_erasure import world as world
from tests.integration.world import Answer, Client, Context, World

OF_REPORT: Final = "rec_1"


class InProcess:
    """The function, without a network between."""

    def call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        answered = json.dumps(erase.handler(json.loads(json.dumps(given)), Context()))
        found: dict[str, Any] = json.loads(answered)
        return found


@pytest.fixture(autouse=True)
def called(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wired().operators, "erasing_function", InProcess())


def dump(world: World) -> dict[str, set[str]]:
    """All rows but the report of a reconciliation, from which an erasure takes findings."""
    found = {name: world.rows(table) for name, table in world.tables.items()}
    return {
        name: {json.dumps(row, sort_keys=True) for row in rows if OF_REPORT not in repr(row)}
        for name, rows in found.items()
    }


def preview(operator: Client, tenant: str, cursor: str | None = None) -> Answer:
    query = "" if cursor is None else f"cursor={cursor}"
    return operator.get(f"{TENANTS}/{tenant}/erasure", query=query)


def previewed(operator: Client, tenant: str) -> tuple[dict[str, Any], int]:
    """The last answer, and the number of answers until then."""
    found, answers = preview(operator, tenant).body, 1
    while found["next_cursor"] is not None:
        found, answers = preview(operator, tenant, found["next_cursor"]).body, answers + 1
    return found, answers


def letters_of(world: World, tenant: str) -> int:
    found = 0
    for name in ("tasks-dlq", "payments-dlq"):
        queue = SqsLetters(url=world.queues[name], client=world.sqs)
        seen = queue.look(100)
        queue.release(seen)
        found += sum(each.tenant == tenant for each in seen)
    return found


def test_an_erasure_does_what_was_counted_before_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    neighbour(world)
    marked = filled(world)
    tenant = marked.client.tenant
    operator = operator_of(tenant)
    assert operator.get(TENANTS).status == 200
    held = sum(reserved for _, reserved in sums(world, tenant))
    before, letters = dump(world), letters_of(world, tenant)
    found, _ = previewed(operator, tenant)
    assert dump(world) == before
    assert letters_of(world, tenant) == letters > 0
    assert found["letters"] == letters
    assert found["payments_cancelled"] == {"count": 2, "amount": held}
    assert held > 0
    new = begun(marked.client, monkeypatch)
    assert ran(machine(), new) == "SUCCEEDED"
    after = dump(world)
    done = {name: len(rows - after[name]) for name, rows in before.items()}
    assert found["rows"] == {name: done[name] for name in found["rows"]}
    assert {name for name, count in done.items() if count} <= found["rows"].keys()
    assert all(found["rows"].values())


def test_a_count_in_parts_tells_the_sums_of_the_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer has time for one page, and a page has one row."""
    tenant = filled(world).client.tenant
    operator = operator_of(tenant)
    whole, once = previewed(operator, tenant)
    assert once == 1
    client = erase.wired().census.owned.client
    scan = client.scan
    monkeypatch.setattr(client, "scan", lambda **given: scan(**given, Limit=1))
    monkeypatch.setattr(erase, "_COUNTS_FOR", timedelta(0))
    parts, answers = previewed(operator, tenant)
    assert answers > 50
    assert parts == whole


def test_a_cursor_of_another_count_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, other = neighbour(world).tenant, neighbour(world).tenant
    monkeypatch.setattr(erase, "_COUNTS_FOR", timedelta(0))
    operator = operator_of(tenant)
    cursor = preview(operator, tenant).body["next_cursor"]
    assert preview(operator, tenant, cursor).status == 200
    for place, given in ((other, cursor), (tenant, "x"), (tenant, cursor[:-8])):
        refused = preview(operator, place, given)
        assert (refused.status, refused.body["errors"][0]["field"]) == (422, "cursor")
    assert operator.get(f"{TENANTS}/{tenant}/erasure", query="limit=3").status == 422
    assert preview(operator, "nobody").status == 404


def test_an_operator_sees_how_far_an_erasure_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client = neighbour(world)
    operator, path = operator_of(client.tenant), f"{TENANTS}/{client.tenant}"
    assert operator.get(path).body["erasure"] is None
    suspended = {"pending": "run", "reason": "unpaid"}
    assert operator.call("POST", f"{path}/suspend", suspended).status == 200
    tenant = begun(client, monkeypatch)
    eraser, steps, rows = erase.wired().eraser, list[int](), [0]
    while (place := eraser.erasures.get(tenant)) is not None and place.name != "tenant":
        shown = operator.get(path).body["erasure"]
        assert shown["steps"] == len(erasing.STEPS)
        assert shown["doing"] == erasing.STEPS[shown["step"] - 1]
        assert datetime.fromisoformat(shown["began_at"]) == place.began_at
        steps.append(shown["step"])
        rows.append(shown["rows"])
        (listed,) = [each for each in operator.get(TENANTS).body["tenants"] if each["erasure"]]
        assert (listed["tenant_id"], listed["erasure"]) == (client.tenant, shown)
        eraser.work(tenant, has_time=lambda: False)
    assert steps[0] == 1
    assert steps == sorted(steps)
    assert rows == sorted(rows)
    # Two accounts and their two deposits, a payment and a task, their two keys, and the task's payload at the least.
    assert rows[-1] >= 8
    forgetting = replace(eraser, waits=replace(eraser.waits, forgotten=timedelta(hours=1)))
    assert forgetting.work(tenant, has_time=lambda: True).seconds is not None
    assert operator.get(path).status == 404
    shown = operator.get(f"{TENANTS}/{tenant}").body
    assert (shown["status"], shown["erasure"]["doing"]) == ("ERASING", "forgotten")
    while (left := replace(forgetting, clock=Tomorrow()).work(tenant, has_time=lambda: True)).seconds:
        assert left.seconds is not None
    assert operator.get(f"{TENANTS}/{tenant}").body["status"] == "ERASED"
    assert operator.get(f"{TENANTS}/{tenant}").body["erasure"] is None
    assert preview(operator, tenant).body["code"] == "invalid_state"
