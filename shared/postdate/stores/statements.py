"""Conditional writes to one table as PartiQL statements, 25 in a request and each with its own condition: one round
trip writes many rows at the price of single writes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.errors import Unavailable
from postdate.runtime.observability import logger
from postdate.stores import batch_get
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import passes, translated
from postdate.stores.tasks import Written

if TYPE_CHECKING:
    from botocore.client import BaseClient

Error = Mapping[str, Any]
# BatchExecuteStatement takes 25 statements.
_AT_ONCE: Final = 25
_KEYS: Final = ("slot", "id")
_UNMET: Final = "ConditionalCheckFailed"
# The insert of a row that exists, within a transaction: Amazon's engines answer with either of them.
_DUPLICATE: Final = "DuplicateItem"
_DUPLICATE_MESSAGE: Final = "Duplicate primary key exists in table"


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """A conditional write of one row."""

    # The statement with its parameters, as DynamoDB takes it.
    request: Mapping[str, Any]
    # The key of the row.
    key: AttributeMap
    # The attributes that an update sets, with None for those that it removes; None for an insert. A later try
    # of the update knows its own result by them.
    change: Mapping[str, dict[str, Any] | None] | None = None

    @property
    def id(self) -> str:
        """An item has one row, and a pointer one in each slot."""
        id: str = self.key["id"]["S"]
        return id


class Statements:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def insert(self, attributes: AttributeMap) -> Statement:
        # The statement holds names alone, and those are ours; every value is a parameter.
        fields = ",".join(f"'{name}':?" for name in attributes)
        text = f'INSERT INTO "{self._table}" VALUE {{{fields}}}'
        request = {"Statement": text, "Parameters": list(attributes.values())}
        return Statement(request=request, key=_key(attributes))

    def update(self, before: AttributeMap, after: AttributeMap, *, unchanged: Sequence[str]) -> Statement:
        """Writes the attributes that differ, if the `unchanged` ones still have their old values."""
        changed = [name for name in after if after[name] != before.get(name)]
        removed = [name for name in before if name not in after]
        request = {
            "Statement": f'UPDATE "{self._table}"'  # noqa: S608
            + "".join(f' SET "{name}"=?' for name in changed)
            + "".join(f' REMOVE "{name}"' for name in removed)
            + " WHERE "
            + " AND ".join(f'"{name}"=?' for name in (*_KEYS, *unchanged)),
            "Parameters": [
                *(after[name] for name in changed),
                *(before[name] for name in (*_KEYS, *unchanged)),
            ],
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return Statement(
            request=request,
            key=_key(before),
            change={name: after.get(name) for name in (*changed, *removed)},
        )

    def execute(self, statements: Sequence[Statement]) -> list[Written]:
        """Returns an answer for each statement, in their order. Statements for one row are carried out in their
        order."""
        written: list[Written] = []
        for chunk in _chunks(statements):
            requests = [statement.request for statement in chunk]
            try:
                with translated():
                    responses = self._client.batch_execute_statement(Statements=requests)["Responses"]
            except Unavailable:
                written += [Written.UNAVAILABLE] * len(chunk)
                continue
            written += self._written(chunk, [response.get("Error") for response in responses])
        return written

    def execute_together(self, change: Statement, other: Statement) -> Written:
        """Executes both statements or neither. If the first is stored already, both are."""
        try:
            with translated():
                self._client.execute_transaction(TransactStatements=[change.request, other.request])
        except Unavailable:
            return Written.UNAVAILABLE
        except self._client.exceptions.TransactionCanceledException as cancelled:
            reasons = cancelled.response["CancellationReasons"]
            (written,) = self._written([change], [next(each for each in reasons if each["Code"] != "None")])
            return written
        return Written.DONE

    def _written(self, statements: Sequence[Statement], errors: Sequence[Error | None]) -> list[Written]:
        """The answers of refused statements. Rows that refusals should have shown and did not are read now."""
        pairs = list(zip(statements, errors, strict=True))
        try:
            unseen = self._rows([each for each, error in pairs if error and _lacks_row(each, error)])
        except Unavailable:
            return [
                Written.UNAVAILABLE if error and _lacks_row(each, error) else _judged(each, error, {})
                for each, error in pairs
            ]
        return [_judged(each, error, unseen) for each, error in pairs]

    def _rows(self, statements: Sequence[Statement]) -> dict[str, AttributeMap]:
        """The rows of these statements by their ids, read now."""
        keys = {each.id: each.key for each in statements}
        found = batch_get.rows(self._client, self._table, keys.values()) if keys else []
        return {row["id"]["S"]: row for row in found}


def _key(attributes: AttributeMap) -> AttributeMap:
    return {name: attributes[name] for name in _KEYS}


def _chunks(statements: Sequence[Statement]) -> Iterator[list[Statement]]:
    """AWS refuses a request as a whole if two of its statements are for one row."""
    chunk: list[Statement] = []
    for statement in statements:
        if len(chunk) == _AT_ONCE or any(each.id == statement.id for each in chunk):
            yield chunk
            chunk = []
        chunk.append(statement)
    if chunk:
        yield chunk


def _lacks_row(statement: Statement, error: Error) -> bool:
    """AWS promises the row that stands in the way, and has been seen to leave it out."""
    return statement.change is not None and _code(error) == _UNMET and "Item" not in error


def _code(error: Error) -> str:
    code: str = error["Code"].removesuffix("Exception")
    if code == "ValidationError" and error.get("Message") == _DUPLICATE_MESSAGE:
        return _DUPLICATE
    return code


def _judged(statement: Statement, error: Error | None, unseen: Mapping[str, AttributeMap]) -> Written:
    """`unseen` are rows that were read because their refusals came without them."""
    if error is None:
        return Written.DONE
    code = _code(error)
    if code == _DUPLICATE:
        return Written.CONFLICT
    if code == _UNMET:
        stored = error.get("Item") or unseen.get(statement.id)
        return Written.DONE if stored and _is_made(statement, stored) else Written.CONFLICT
    if passes(code):
        return Written.UNAVAILABLE
    logger.error(
        "DynamoDB refused a statement", extra={"action": "refused", "code": code, "why": error.get("Message")}
    )
    return Written.REFUSED


def _is_made(statement: Statement, stored: AttributeMap) -> bool:
    """The row is as this statement's own earlier try left it: each change writes a version and a line of history. A
    lease that was extended since then makes no difference, nor do attributes that only newer code writes."""
    change = statement.change
    return change is not None and all(
        stored.get(name) == value for name, value in change.items() if name != "lease"
    )
