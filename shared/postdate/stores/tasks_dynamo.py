"""Tasks in DynamoDB.

Changes go as PartiQL statements, 25 in a request and each with its own condition: one round trip claims a whole
packet at the price of its single writes. Reads go through pynamodb.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any

from pynamodb.exceptions import DoesNotExist

from postdate.domain import instants
from postdate.domain.errors import Unavailable
from postdate.domain.item import kind_of
from postdate.domain.slots import ShardPlan, home, is_id, unique_part
from postdate.domain.task import KINDS, State, Task
from postdate.domain.transitions import Transition
from postdate.runtime.observability import logger
from postdate.stores import task_row
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import passes, translated
from postdate.stores.rows import readable
from postdate.stores.tasks import Written

if TYPE_CHECKING:
    from botocore.client import BaseClient

_STATEMENTS_MAX = 25
_KEYS = ("slot", "id")
_PRESENT = frozenset({"ConditionalCheckFailed", "DuplicateItem"})


class DynamoTasks:
    def __init__(
        self, *, table: str, client: "BaseClient", plan: ShardPlan, listing_shards: int, retention: timedelta
    ) -> None:
        self._table = table
        self._rows = task_row.task_rows(table)
        self._client = client
        self._plan = plan
        self._listing_shards = listing_shards
        self._retention = retention

    def get(self, id: str) -> Task | None:
        slot = home(id)
        if kind_of(id) not in KINDS:
            return None
        with translated():
            try:
                return task_row.task_of(self._rows.get(slot.key, id, consistent_read=True))
            except DoesNotExist:
                return None

    def get_many(self, ids: Iterable[str]) -> dict[str, Task]:
        keys = [(home(id).key, id) for id in dict.fromkeys(ids) if is_id(id) and kind_of(id) in KINDS]
        with translated():
            rows = self._rows.batch_get(keys, consistent_read=True)
            return {task.id: task for task in readable(rows, task_row.task_of)}

    def fits(self, task: Task) -> bool:
        reserved = task_row.size(self._attributes(task)) + task_row.HISTORY_RESERVE_BYTES
        return reserved <= task_row.ROW_BYTES_BILLED_ONCE

    def add(self, tasks: Sequence[Task]) -> list[Written]:
        return self._execute([self._insert(self._attributes(task)) for task in tasks])

    def commit(self, transitions: Sequence[Transition]) -> list[Written]:
        written = [Written.UNAVAILABLE] * len(transitions)
        staying = [place for place, transition in enumerate(transitions) if not transition.points]
        results = self._execute([self._update(transitions[place]) for place in staying])
        for place, result in zip(staying, results, strict=True):
            written[place] = result
        for place in sorted(set(range(len(transitions))) - set(staying)):
            written[place] = self._move(transitions[place])
        return written

    def extend(self, tasks: Sequence[Task], until: datetime) -> list[Written]:
        lease = {"N": str(instants.milliseconds(until))}
        running = {"S": State.RUNNING.value}
        return self._execute(
            [
                {
                    "Statement": f'UPDATE "{self._table}" SET "lease"=? '  # noqa: S608
                    'WHERE "slot"=? AND "id"=? AND "status"=? AND "token"=?',
                    "Parameters": [
                        lease,
                        {"S": task.home.key},
                        {"S": task.id},
                        running,
                        {"N": str(task.token)},
                    ],
                }
                for task in tasks
            ]
        )

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        return self._listed(tenant, after, limit)

    def runs_listed(self, tenant: str, definition: str, *, after: str, limit: int) -> list[str]:
        return self._listed(task_row.runs_of(tenant, definition), after, limit)

    def _listed(self, whose: str, after: str, limit: int) -> list[str]:
        behind = self._rows.id > after if after else None
        with translated():
            shards = [
                [
                    row.id
                    for row in self._rows.by_listing.query(
                        task_row.listing_key(whose, number), behind, limit=limit
                    )
                ]
                for number in range(self._listing_shards)
            ]
        return list(islice(merge(*shards), limit))

    def _attributes(self, task: Task) -> AttributeMap:
        return task_row.attributes_of(task, listing_shards=self._listing_shards, retention=self._retention)

    def _insert(self, attributes: AttributeMap) -> dict[str, Any]:
        # The statement holds names alone, and those are ours; every value is a parameter.
        fields = ",".join(f"'{name}':?" for name in attributes)
        return {
            "Statement": f'INSERT INTO "{self._table}" VALUE {{{fields}}}',
            "Parameters": list(attributes.values()),
        }

    def _update(self, transition: Transition) -> dict[str, Any]:
        before, after = self._attributes(transition.before), self._attributes(transition.after)
        changed = [name for name in after if after[name] != before.get(name)]
        removed = [name for name in before if name not in after]
        held = ["version", "lease"] if transition.over_lease else ["version"]
        return {
            "Statement": f'UPDATE "{self._table}"'  # noqa: S608
            + "".join(f' SET "{name}"=?' for name in changed)
            + "".join(f' REMOVE "{name}"' for name in removed)
            + " WHERE "
            + " AND ".join(f'"{name}"=?' for name in (*_KEYS, *held)),
            "Parameters": [*(after[name] for name in changed), *(before[name] for name in (*_KEYS, *held))],
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "after": after,
        }

    def _move(self, transition: Transition) -> Written:
        slot = self._plan.slot(transition.after.due_at, unique_part(transition.after.id))
        pointer = task_row.pointer_attributes(transition.after, slot)
        update = self._update(transition)
        after = update.pop("after")
        try:
            with translated():
                self._client.execute_transaction(TransactStatements=[update, self._insert(pointer)])
        except Unavailable:
            return Written.UNAVAILABLE
        except self._client.exceptions.TransactionCanceledException as cancelled:
            reasons = cancelled.response["CancellationReasons"]
            return _written({"Error": next(reason for reason in reasons if reason["Code"] != "None")}, after)
        return Written.DONE

    def _execute(self, statements: Sequence[dict[str, Any]]) -> list[Written]:
        written: list[Written] = []
        for start in range(0, len(statements), _STATEMENTS_MAX):
            chunk = [dict(statement) for statement in statements[start : start + _STATEMENTS_MAX]]
            afters = [statement.pop("after", None) for statement in chunk]
            try:
                with translated():
                    responses = self._client.batch_execute_statement(Statements=chunk)["Responses"]
            except Unavailable:
                written += [Written.UNAVAILABLE] * len(chunk)
                continue
            written += [_written(response, after) for response, after in zip(responses, afters, strict=True)]
        return written


def _written(response: dict[str, Any], after: AttributeMap | None) -> Written:
    error = response.get("Error")
    if error is None:
        return Written.DONE
    code = error["Code"].removesuffix("Exception")
    if code in _PRESENT:
        return (
            Written.DONE
            if after is not None and _is_stored(after, error.get("Item", {}))
            else Written.CONFLICT
        )
    if passes(code):
        return Written.UNAVAILABLE
    logger.error(
        "a change was refused", extra={"action": "refused", "code": code, "why": error.get("Message")}
    )
    return Written.REFUSED


def _is_stored(after: AttributeMap, stored: AttributeMap) -> bool:
    """Our own change, written by a try whose answer got lost; a lease made longer since then is no difference."""
    return {**stored, "lease": after.get("lease")} == {**after, "lease": after.get("lease")}
