"""Scans of the local engine: the answers are its own, and a page costs what it holds."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest
from ministack.services import dynamodb

from cli.local.scanning import by_pages, projected_plainly, rows_of_page

TABLE: Final = "scanned"
PAGE_BYTES: Final = 300
SCAN: Final = dynamodb._scan
PROJECT: Final = dynamodb._project_item
PROJECTION: Final = {
    "ProjectionExpression": "#id, #amount",
    "ExpressionAttributeNames": {"#id": "id", "#amount": "amount"},
}


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """A table of 60 rows in 12 partitions, of which a page takes five or so."""
    monkeypatch.setattr(dynamodb, "_DDB_PAGE_SIZE_BYTES", PAGE_BYTES)
    keys = [("slot", "HASH"), ("id", "RANGE")]
    created = dynamodb._create_table(
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
            "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by_id",
                    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        }
    )
    assert created[0] == 200
    draws, made = Random(1), []
    for number in draws.sample(range(60), 60):
        row = {
            "slot": {"S": f"slot-{number % 12:02d}"},
            "id": {"S": f"id-{number:02d}"},
            "amount": {"N": str(number)},
            "text": {"S": "x" * draws.randrange(40)},
            **({"rare": {"S": "y"}} if number % 3 == 0 else {}),
        }
        assert dynamodb._put_item({"TableName": TABLE, "Item": row})[0] == 200
        made.append(row)
    yield made
    dynamodb._delete_table({"TableName": TABLE})


def pages(scan: Any, **asked: Any) -> list[Any]:
    """The answers of all pages."""
    found: list[Any] = []
    after: dict[str, Any] = {}
    while True:
        status, _, body = scan({"TableName": TABLE, **asked, **after})
        found.append((status, json.loads(body)))
        if "LastEvaluatedKey" not in found[-1][1]:
            return found
        after = {"ExclusiveStartKey": found[-1][1]["LastEvaluatedKey"]}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"Limit": 3},
        PROJECTION,
        {"FilterExpression": "attribute_exists(rare)"},
        {"IndexName": "by_id"},
        {"ExclusiveStartKey": {"slot": {"S": "slot-03"}}},
        *({"Segment": number, "TotalSegments": 3} for number in range(3)),
    ],
    ids=str,
)
def test_a_scan_finds_what_the_engine_finds_by_itself(asked: dict[str, Any]) -> None:
    expected = pages(SCAN, **asked)
    assert pages(by_pages(SCAN), **asked) == expected
    assert len(expected) > 5 or "ExclusiveStartKey" in asked or "Segment" in asked


def test_a_page_reads_no_row_behind_it(rows: list[dict[str, Any]]) -> None:
    table = dynamodb._tables.get(TABLE)
    found = list(rows_of_page(table, {}))
    assert PAGE_BYTES < sum(map(dynamodb._item_size_bytes, found)) < 2 * PAGE_BYTES
    assert len(found) < len(rows) / 4


def test_another_engine_is_told() -> None:
    with pytest.raises(LookupError):
        by_pages(pages)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("#id, #amount", {"#id": "id", "#amount": "amount"}),
        ("id, amount", {}),
        ("#id,#rare", {"#id": "id", "#rare": "rare"}),
        ("#text[0], #id", {"#id": "id", "#text": "text"}),
    ],
)
def test_a_projection_shows_what_the_engine_shows_by_itself(
    rows: list[dict[str, Any]], expression: str, names: dict[str, str]
) -> None:
    plainly = projected_plainly(PROJECT)
    expected = [PROJECT(row, expression, names) for row in rows]
    assert [plainly(row, expression, names) for row in rows] == expected


def test_the_expression_of_a_projection_is_read_once(rows: list[dict[str, Any]]) -> None:
    read: list[Any] = []

    def project(row: dict[str, Any], expression: str, names: dict[str, str]) -> Any:
        read.append(row)
        return PROJECT(row, expression, names)

    plainly = projected_plainly(project)
    expression, names = PROJECTION["ProjectionExpression"], PROJECTION["ExpressionAttributeNames"]
    for row in rows:
        plainly(row, expression, names)
    assert read == rows[:1]
