"""Units as AWS bills them, of every call of boto3 and pynamodb.

Each answer is asked for its units, indexes included. What the engine says of a PartiQL statement is 1 whatever it
wrote, so the rows that one changed are put into a twin of their table, and what those puts take is counted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from botocore import handlers

from tests import tables
from tests.tables import KEYS

_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_READS: Final = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"})
_STATEMENTS: Final = {"BatchExecuteStatement": "Statements", "ExecuteTransaction": "TransactStatements"}
_Row = dict[str, Any]
_Rows = dict[tuple[str, ...], _Row]


class Meter:
    """`units` by table; `refused` are writes whose condition failed, which AWS bills as well."""

    def __init__(self) -> None:
        self.units: Counter[str] = Counter()
        self._tables: Mapping[str, str] = {}

    def start(self, dynamodb: Any, names: Mapping[str, str]) -> None:
        """Counts by the names that tables have in the code. This client is the meter's own: its calls do not count."""
        dynamodb.meta.events.unregister("provide-client-params.dynamodb", self.before)
        dynamodb.meta.events.unregister("after-call.dynamodb", self.after)
        self._own = dynamodb
        self._twins = tables.create(dynamodb, f"{names['items']}-twin")
        self._tables = {full_name: name for name, full_name in names.items()}

    def stop(self) -> None:
        self._tables = {}

    def before(self, params: _Row, model: Any, context: _Row, **_: object) -> None:
        if self._tables and model.name in _WRITES:
            params["ReturnConsumedCapacity"] = "INDEXES"
        if self._tables and model.name in _STATEMENTS:
            texts = [each["Statement"] for each in params[_STATEMENTS[model.name]]]
            named = {table for table in self._tables if any(f'"{table}"' in text for text in texts)}
            context["rows before"] = {table: self._rows(table) for table in named}

    def after(self, parsed: _Row, model: Any, context: _Row, **_: object) -> None:
        if not self._tables:
            return
        if "Error" in parsed:
            self.units["refused"] += 1
        elif model.name in _WRITES:
            found = parsed["ConsumedCapacity"]
            for taken in found if isinstance(found, list) else [found]:
                self.units[self._tables[taken["TableName"]]] += int(taken["CapacityUnits"])
        times = 2 if model.name == "ExecuteTransaction" else 1
        for table, before in context.get("rows before", {}).items():
            name = self._tables[table]
            for key, row in self._rows(table).items():
                if row != before.get(key):
                    self.units[name] += self._billed(name, before.get(key), row, times)
        if model.name in _STATEMENTS:
            self.units["refused"] += sum("Error" in each for each in parsed.get("Responses", ()))

    def _billed(self, name: str, before: _Row | None, after: _Row, times: int) -> int:
        """In a transaction a row counts double, and its entries in indexes do not."""
        if before is not None:
            self._own.put_item(TableName=self._twins[name], Item=before)
        answer = self._own.put_item(TableName=self._twins[name], Item=after, ReturnConsumedCapacity="INDEXES")
        taken = answer["ConsumedCapacity"]
        row = int(taken["Table"]["CapacityUnits"])
        return times * row + int(taken["CapacityUnits"]) - row

    def _rows(self, table: str) -> _Rows:
        keys = KEYS[self._tables[table]]
        pages = self._own.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        rows = [row for page in pages for row in page["Items"]]
        return {tuple(row[key]["S"] for key in keys): row for row in rows}


class Reads:
    """`units` by the full name of the table, as the engine tells them. DynamoDB Local tells what AWS bills. MiniStack
    tells one figure for every Query and none for a batch."""

    def __init__(self) -> None:
        self.units: Counter[str] = Counter()
        self._counts = False

    @contextmanager
    def counting(self) -> Iterator[None]:
        self.units.clear()
        self._counts = True
        try:
            yield
        finally:
            self._counts = False

    def before(self, params: _Row, model: Any, **_: object) -> None:
        if self._counts and model.name in _READS:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def after(self, parsed: _Row, model: Any, **_: object) -> None:
        if self._counts and model.name in _READS and "Error" not in parsed:
            found = parsed.get("ConsumedCapacity", [])
            for taken in found if isinstance(found, list) else [found]:
                self.units[taken["TableName"]] += taken["CapacityUnits"]


METER: Final = Meter()
READS: Final = Reads()
_every_client: list[Any] = handlers.BUILTIN_HANDLERS
_every_client += [
    (event, method)
    for meter in (METER, READS)
    for event, method in (
        ("provide-client-params.dynamodb", meter.before),
        ("after-call.dynamodb", meter.after),
    )
]
