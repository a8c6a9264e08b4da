"""Meter of this process's AWS calls: requests as sent, units by the rows before and after.

The meter registers botocore's event handlers before any client exists, so it sees boto3 and pynamodb without patches.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import boto3
import botocore.handlers

from bench.capacity import Index, Row, read_units, write_units

_STATUSES: Final = {"RUNNING": "claim", "SUCCEEDED": "completion"}
_TABLE: Final = re.compile(r'^(?:INSERT INTO|UPDATE) "([^"]+)"')
_PLACES: Final = re.compile(r"""["'](\w+)["'](?:=|:)\?""")
_Change = tuple[str, Row, Row | None]


class Meter:
    """`taken[phase]` are sums. Within a run the phase follows from what is written: see `_phase`. `apart` names tables
    that have a phase of their own."""

    def __init__(self, *, destination: str) -> None:
        self.taken: dict[str, Counter[str]] = {}
        self.apart: dict[str, str] = {}
        self._destination = destination
        self._usual: str | None = None
        self._own = boto3.Session().client("dynamodb")
        self._described: dict[str, tuple[list[str], list[Index]]] = {}
        every_client: list[Any] = botocore.handlers.BUILTIN_HANDLERS
        every_client += [
            ("before-parameter-build", self._before),
            ("after-call", self._after),
        ]

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._usual = name
        yield
        self._usual = None

    def note(self, name: str, **counts: float) -> None:
        self.taken.setdefault(name, Counter()).update(counts)

    def _before(self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if self._usual is None:
            return
        context["phase"] = self._phase(params)
        context["asked"] = params
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "INDEXES"
        if "TransactItems" in params:
            context["changes"] = [self._action(action) for action in params["TransactItems"]]
        if "Statements" in params:
            context["changes"] = [self._change(statement) for statement in params["Statements"]]

    def _phase(self, params: dict[str, Any]) -> str:
        """A claim makes a task RUNNING, a completion makes it SUCCEEDED; what goes to the destination is delivery."""
        usual = self._usual or ""
        if params.get("QueueUrl") == self._destination:
            return "delivery"
        if "Statements" not in params:
            return self.apart.get(params.get("TableName", ""), usual)
        values = json.dumps([statement["Parameters"] for statement in params["Statements"]])
        return next((phase for status, phase in _STATUSES.items() if f'"{status}"' in values), usual)

    def _after(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        if (phase := context.get("phase")) is None:
            return
        self.note(phase, **{f"{model.service_model.service_name}_requests": 1})
        match model.name:
            case "GetItem":
                rows, consistent = [parsed.get("Item", {})], context["asked"].get("ConsistentRead", False)
                self.note(phase, read_units=read_units(rows, consistent=consistent))
            case "Query":
                consistent = context["asked"].get("ConsistentRead", False)
                self.note(phase, read_units=read_units(parsed["Items"], consistent=consistent))
            case "BatchGetItem":
                for table, asked in context["asked"]["RequestItems"].items():
                    for row in parsed["Responses"].get(table, ()):
                        consistent = asked.get("ConsistentRead", False)
                        self.note(phase, read_units=read_units([row], consistent=consistent))
            case "BatchExecuteStatement":
                for change in context["changes"]:
                    self.note(phase, write_units=self._written(change))
            case "TransactWriteItems":
                for change in context["changes"]:
                    self.note(phase, write_units=self._written(change, in_transaction=True))
            case _ if "ConsumedCapacity" in parsed:
                self.note(phase, write_units=parsed["ConsumedCapacity"]["CapacityUnits"])

    def _change(self, statement: dict[str, Any]) -> _Change:
        """Table, key, and the row as it is before."""
        (table,) = _TABLE.findall(statement["Statement"])
        given = dict(zip(_PLACES.findall(statement["Statement"]), statement["Parameters"], strict=True))
        key = {name: given[name] for name in self._table(table)[0]}
        return table, key, self._row(table, key)

    def _action(self, action: dict[str, Any]) -> _Change:
        """The same of one action of a transaction."""
        (asked,) = action.values()
        table, given = asked["TableName"], asked.get("Item") or asked["Key"]
        key = {name: given[name] for name in self._table(table)[0]}
        return table, key, self._row(table, key)

    def _written(self, change: _Change, *, in_transaction: bool = False) -> int:
        table, key, before = change
        return write_units(
            before, self._row(table, key), self._table(table)[1], in_transaction=in_transaction
        )

    def _row(self, table: str, key: Row) -> Row | None:
        found: Row | None = self._own.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return found

    def _table(self, name: str) -> tuple[list[str], list[Index]]:
        if name not in self._described:
            described = self._own.describe_table(TableName=name)["Table"]
            keys = [key["AttributeName"] for key in described["KeySchema"]]
            indexes = [Index.of(index, keys) for index in described.get("GlobalSecondaryIndexes", ())]
            self._described[name] = keys, indexes
        return self._described[name]
