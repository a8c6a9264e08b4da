"""Conditional writes to one table as PartiQL statements, 25 in a request and each with its own condition: one round
trip writes many rows at the price of single writes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.errors import Unavailable
from postdate.runtime.observability import logger
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import passes, translated
from postdate.stores.tasks import Written

if TYPE_CHECKING:
    from botocore.client import BaseClient

# What an update sets, and None for what it removes.
Change = Mapping[str, dict[str, Any] | None]
_AT_ONCE: Final = 25
_KEYS: Final = ("slot", "id")
_PRESENT: Final = frozenset({"ConditionalCheckFailed", "DuplicateItem"})


class Statements:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def insert(self, attributes: AttributeMap) -> dict[str, Any]:
        # The statement holds names alone, and those are ours; every value is a parameter.
        fields = ",".join(f"'{name}':?" for name in attributes)
        return {
            "Statement": f'INSERT INTO "{self._table}" VALUE {{{fields}}}',
            "Parameters": list(attributes.values()),
        }

    def update(self, before: AttributeMap, after: AttributeMap, *, held: Sequence[str]) -> dict[str, Any]:
        """Writes what differs, while the attributes that are `held` are what they were."""
        changed = [name for name in after if after[name] != before.get(name)]
        removed = [name for name in before if name not in after]
        return {
            "Statement": f'UPDATE "{self._table}"'  # noqa: S608
            + "".join(f' SET "{name}"=?' for name in changed)
            + "".join(f' REMOVE "{name}"' for name in removed)
            + " WHERE "
            + " AND ".join(f'"{name}"=?' for name in (*_KEYS, *held)),
            "Parameters": [*(after[name] for name in changed), *(before[name] for name in (*_KEYS, *held))],
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "change": {name: after.get(name) for name in (*changed, *removed)},
        }

    def execute(self, statements: Sequence[dict[str, Any]]) -> list[Written]:
        written: list[Written] = []
        for start in range(0, len(statements), _AT_ONCE):
            chunk = [dict(statement) for statement in statements[start : start + _AT_ONCE]]
            changes = [statement.pop("change", None) for statement in chunk]
            try:
                with translated():
                    responses = self._client.batch_execute_statement(Statements=chunk)["Responses"]
            except Unavailable:
                written += [Written.UNAVAILABLE] * len(chunk)
                continue
            written += [
                _written(response, change) for response, change in zip(responses, changes, strict=True)
            ]
        return written

    def execute_together(self, change: dict[str, Any], pointer: dict[str, Any]) -> Written:
        """Both or neither."""
        made = change.pop("change", None)
        try:
            with translated():
                self._client.execute_transaction(TransactStatements=[change, pointer])
        except Unavailable:
            return Written.UNAVAILABLE
        except self._client.exceptions.TransactionCanceledException as cancelled:
            reasons = cancelled.response["CancellationReasons"]
            return _written({"Error": next(reason for reason in reasons if reason["Code"] != "None")}, made)
        return Written.DONE


def _written(response: dict[str, Any], change: Change | None) -> Written:
    error = response.get("Error")
    if error is None:
        return Written.DONE
    code = error["Code"].removesuffix("Exception")
    if code in _PRESENT:
        is_done = change is not None and _is_made(change, error.get("Item", {}))
        return Written.DONE if is_done else Written.CONFLICT
    if passes(code):
        return Written.UNAVAILABLE
    logger.error(
        "a change was refused", extra={"action": "refused", "code": code, "why": error.get("Message")}
    )
    return Written.REFUSED


def _is_made(change: Change, stored: AttributeMap) -> bool:
    """Our own, by a try whose answer got lost: each change writes a version and a line of history. A lease made longer
    since then is no difference, nor is what else is in the row, which newer code may have written."""
    return all(stored.get(name) == value for name, value in change.items() if name != "lease")
