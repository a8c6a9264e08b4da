"""A row that only newer code can read is logged, hides no other row and does not count as missing."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from postdate.domain.breaker import Breaker
from postdate.domain.errors import Unavailable, Unreadable
from postdate.domain.item import Item, Phase
from postdate.domain.reconciling import Reconciliation
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.reconciliations import DynamoReconciliations
from postdate.stores.tenants import Tenant
from tests.contract.conftest import OnAws
from tests.contract.examples import Examples
from tests.contract.recurring import a_definition

Attributes = Mapping[str, dict[str, Any]]


def changed(on_aws: OnAws, table: str, key: Attributes, **attributes: dict[str, Any]) -> None:
    """The row as newer code may have written it."""
    on_aws.dynamodb.update_item(
        TableName=on_aws.names[table],
        Key=key,
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in attributes),
        ExpressionAttributeNames={f"#{name}": name for name in attributes},
        ExpressionAttributeValues={f":{name}": value for name, value in attributes.items()},
    )


def item_key(item: Item) -> Attributes:
    return {"slot": {"S": item.home.key}, "id": {"S": item.id}}  # type: ignore[attr-defined]


def schedule(cron: str, timezone: str = "UTC") -> dict[str, Any]:
    return {"schedule": {"S": json.dumps({"cron": cron, "timezone": timezone})}}


@pytest.mark.parametrize(
    "attributes",
    [
        schedule("*/5 22-2 * * *"),
        schedule("* * * * *", "Mars/Olympus_Mons"),
        {"schedule": {"M": {}}},
        {"status": {"S": "HIBERNATING"}},
        {"created": {"N": "1" + "0" * 30}},
        {"template": {"S": "{}"}},
        {"version": {"S": "one"}},
    ],
    ids=["cron", "zone", "type", "state", "instant", "template", "number"],
)
def test_a_definition_that_only_newer_code_can_read_hides_no_other(
    on_aws: OnAws, examples: Examples, attributes: dict[str, Any]
) -> None:
    known, newer = a_definition(examples), a_definition(examples)
    for each in (known, newer):
        on_aws.definitions.add(each)
    changed(on_aws, "items", item_key(newer), **attributes)  # type: ignore[arg-type]
    found = on_aws.definitions.get_many([newer.id, known.id])
    assert (found, found.unreadable) == ({known.id: known}, {newer.id})
    with pytest.raises(Unavailable):
        on_aws.definitions.get(newer.id)


@pytest.mark.parametrize(
    "attributes",
    [
        {"target": {"S": "{}"}},
        {"status": {"S": "HIBERNATING"}},
        {"history": {"L": [{"S": "one line of another form"}]}},
        {"history": {"L": [{"N": "1"}]}},
        {"due": {"N": "1" + "0" * 30}},
        {"due": {"S": "at noon"}},
        {"tenant": {"M": {}}},
        {"options": {"S": '{"retry":{"forever":true}}'}},
    ],
    ids=["target", "state", "line", "lines", "instant", "number", "tenant", "option"],
)
def test_a_task_that_only_newer_code_can_read_hides_no_other_and_keeps_its_minute_open(
    on_aws: OnAws, examples: Examples, attributes: dict[str, Any]
) -> None:
    known, newer = examples.tasks(2, shard=0)
    on_aws.tasks.add([known, newer])
    changed(on_aws, "items", item_key(newer), **attributes)
    found = on_aws.tasks.get_many([newer.id, known.id])
    assert (found, found.unreadable) == ({known.id: known}, {newer.id})
    with pytest.raises(Unavailable):
        on_aws.tasks.get(newer.id)
    for entries in (
        {entry.due.id: entry.phase for entry in on_aws.timetable.due_in(known.home)},
        {id: entry.phase for id, entry in on_aws.timetable.entries([newer.id, known.id]).items()},
    ):
        assert entries.keys() == {known.id, newer.id}
        assert entries[known.id] is Phase.WAITS
        assert entries[newer.id] is not Phase.RESTS


def test_a_payload_that_only_newer_code_can_read_hides_no_other(on_aws: OnAws, examples: Examples) -> None:
    for name in ("known", "newer"):
        on_aws.payloads.put(f"{examples.now}{name}", name, keep_until=examples.now)
    known, newer = f"{examples.now}known", f"{examples.now}newer"
    changed(on_aws, "payloads", {"id": {"S": newer}}, text={"M": {}})
    assert on_aws.payloads.get_many([newer, known]) == {known: "known"}
    with pytest.raises(Unavailable):
        on_aws.payloads.get(newer)


def test_a_tenant_that_only_newer_code_can_read_is_not_missing(on_aws: OnAws) -> None:
    on_aws.tenants.put(Tenant(id="newer"))
    changed(on_aws, "tenants", {"tenant": {"S": "newer"}}, buses={"M": {}})
    with pytest.raises(Unreadable):
        on_aws.tenants.get("newer")
    # Together with another tenant as well: the caller then reads each by itself.
    with pytest.raises(Unreadable):
        on_aws.tenants.get_many(["newer", "known"])


def test_a_breaker_or_a_room_that_only_newer_code_can_read_stops_no_other(on_aws: OnAws) -> None:
    flow = DynamoFlow(table=on_aws.names["flow"], client=on_aws.dynamodb)
    known, newer = ("demo", "webhook:known"), ("demo", "webhook:newer")
    for each in (known, newer):
        assert flow.change_breaker(each, Breaker(), Breaker(version=1, failures=3))
    row = {"tenant": {"S": "demo"}, "name": {"S": "breaker#webhook:newer"}}
    changed(on_aws, "flow", row, failures={"S": "many"})
    assert flow.breakers([newer, known]) == {newer: Breaker(), known: Breaker(version=1, failures=3)}
    assert flow.states("demo").keys() == {"webhook:known"}
    changed(on_aws, "flow", {**row, "name": {"S": "room#newer"}}, runs={"S": "all of them"})
    with pytest.raises(Unavailable):
        flow.room("demo", "newer")


def a_reconciliation(id: str) -> Reconciliation:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    return Reconciliation(
        id=id,
        started_at=at,
        finished_at=at,
        by_check={},
        looked_at={},
        unjudged=0,
        events_filled=0,
        report=f"reports/{id}.json",
    )


def place_of(id: str) -> Attributes:
    return {"operation": {"S": "reconciliations"}, "place": {"S": id}}


def forget(on_aws: OnAws, ids: list[str]) -> None:
    """All tests share the list of reconciliations."""
    for id in ids:
        on_aws.dynamodb.delete_item(TableName=on_aws.names["operations"], Key=place_of(id))


def test_a_page_of_reconciliations_is_full_beside_rows_that_newer_code_wrote(on_aws: OnAws) -> None:
    """A page with fewer rows than were asked for is the last one of a list."""
    stored = DynamoReconciliations(table=on_aws.names["operations"], client=on_aws.dynamodb)
    ids = [f"rec_full_{number}" for number in range(6)]
    for number, id in enumerate(ids):
        stored.put(a_reconciliation(id))
        if number in (2, 4, 5):
            changed(on_aws, "operations", place_of(id), proposals={"M": {}})

    def page(before: str, limit: int) -> list[str]:
        return [each.id for each in stored.newest(before=before, limit=limit)]

    assert page("rec_full_9", 2) == ["rec_full_3", "rec_full_1"]
    assert page("rec_full_3", 2) == ["rec_full_1", "rec_full_0"]
    assert page("rec_full_1", 2)[:1] == ["rec_full_0"]
    forget(on_aws, ids)


def test_an_erasure_misses_no_report_that_newer_code_wrote(on_aws: OnAws) -> None:
    """The newest row hides none behind it in a list, and stops a walk that may miss none."""
    stored = DynamoReconciliations(table=on_aws.names["operations"], client=on_aws.dynamodb)
    known, newer = a_reconciliation("rec_1"), a_reconciliation("rec_2")
    for each in (known, newer):
        stored.put(each)
    assert [each.id for each in stored.each()] == ["rec_2", "rec_1"]
    changed(on_aws, "operations", place_of(newer.id), proposals={"M": {}})
    assert [each.id for each in stored.newest(before="", limit=5)] == ["rec_1"]
    with pytest.raises(Unavailable):
        list(stored.each())
    forget(on_aws, [known.id, newer.id])
