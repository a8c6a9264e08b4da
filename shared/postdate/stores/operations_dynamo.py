"""Operations in DynamoDB: a row for the operation, one for each 25 of its items, and one for each tenant with those
that run."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from postdate.domain import instants
from postdate.domain.errors import Unreadable
from postdate.domain.operation import (
    Action,
    Entry,
    Kind,
    Operation,
    Outcome,
    Page,
    Plan,
    Seat,
    Seats,
    State,
    StopRule,
)
from postdate.domain.slots import home
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed
from postdate.stores.faults import translated
from postdate.stores.rows import readable

if TYPE_CHECKING:
    from botocore.client import BaseClient

KEPT: Final = timedelta(days=95)
HEAD: Final = "head"
_PAGE: Final = "page#"
_SEATS: Final = "seats"
_SHORT: Final = {outcome: outcome.value[0] for outcome in Outcome}
_LONG: Final = {short: outcome for outcome, short in _SHORT.items()}


class DynamoOperations:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def add(self, operation: Operation, pages: Sequence[Page]) -> None:
        for page in pages:
            self._put(_page_row(page), before=0)
        self._put(_head_row(operation), before=0)

    def get(self, id: str) -> Operation | None:
        row = self._get(id, HEAD)
        if row is None:
            return None
        for found in readable([row], operation_of):
            return found
        raise Unreadable(f"{id} was written by newer code")

    def change(self, after: Operation) -> bool:
        return self._put(_head_row(after), before=after.version - 1)

    def pages(self, operation: Operation, *, first: int, limit: int) -> list[Page]:
        if first >= operation.pages:
            return []
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "operation = :operation AND place BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":operation": {"S": operation.id},
                ":first": {"S": _place(first)},
                ":last": {"S": _place(first + limit - 1)},
            },
            "ConsistentRead": True,
        }
        found: list[Page] = []
        while True:
            with translated():
                answer = self._client.query(**asked)
            found += [_page(row) for row in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return found
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def change_page(self, after: Page) -> bool:
        return self._put(_page_row(after), before=after.version - 1)

    def listed(self, tenant: str, *, before: str, limit: int) -> list[str]:
        with translated():
            answer = self._client.query(
                TableName=self._table,
                IndexName="by_tenant",
                KeyConditionExpression="tenant = :tenant" + (" AND operation < :before" if before else ""),
                ExpressionAttributeValues={":tenant": {"S": tenant}}
                | ({":before": {"S": before}} if before else {}),
                ScanIndexForward=False,
                Limit=limit,
            )
        return [row["operation"]["S"] for row in answer["Items"]]

    def seats(self, tenant: str) -> Seats:
        row = self._get(_of_tenant(tenant), _SEATS)
        if row is None:
            return Seats(tenant=tenant)
        return Seats(
            tenant=tenant,
            taken=tuple(
                Seat(operation=id, version=version, at=instants.from_milliseconds(at))
                for id, version, at in json.loads(row["taken"]["S"])
            ),
            version=int(row["version"]["N"]),
        )

    def change_seats(self, after: Seats) -> bool:
        taken = [[each.operation, each.version, instants.milliseconds(each.at)] for each in after.taken]
        texts = {"operation": _of_tenant(after.tenant), "place": _SEATS, "taken": compact(taken)}
        return self._put(typed(texts, {"version": after.version}), before=after.version - 1)

    def _get(self, operation: str, place: str) -> AttributeMap | None:
        with translated():
            answer = self._client.get_item(
                TableName=self._table,
                Key={"operation": {"S": operation}, "place": {"S": place}},
                ConsistentRead=True,
            )
        row: AttributeMap | None = answer.get("Item")
        return row

    def _put(self, row: AttributeMap, *, before: int) -> bool:
        """Writes the row over the version before, or in an empty place. A row that is stored already, as after an
        answer that got lost, counts as written."""
        try:
            with translated():
                self._client.put_item(
                    TableName=self._table,
                    Item=row,
                    ConditionExpression="#version = :before" if before else "attribute_not_exists(place)",
                    **(
                        {
                            "ExpressionAttributeNames": {"#version": "version"},
                            "ExpressionAttributeValues": {":before": {"N": str(before)}},
                        }
                        if before
                        else {}
                    ),
                )
        except self._client.exceptions.ConditionalCheckFailedException:
            return self._get(row["operation"]["S"], row["place"]["S"]) == row
        return True


def _of_tenant(tenant: str) -> str:
    return f"tenant {tenant}"


def _place(number: int) -> str:
    return f"{_PAGE}{number:04d}"


def _head_row(operation: Operation) -> AttributeMap:
    plan, rule = operation.plan, operation.plan.stop_when
    asked = {
        "action": plan.action.value,
        "kind": plan.kind.value,
        "actor": plan.actor,
        "reason": plan.reason,
        "operates": plan.operates,
        "max_per_second": plan.max_per_second,
        "canary": plan.canary,
        "stop_when": None if rule is None else [rule.failed_share, rule.within.total_seconds()],
    }
    # What was asked for and found never changes. Progress has attributes of its own.
    found = {
        "eligible": operation.eligible,
        "amount": operation.amount,
        "evaluated": operation.evaluated,
        "not_eligible": dict(operation.not_eligible),
        "by_failure": dict(operation.by_failure),
        "by_destination": dict(operation.by_destination),
    }
    texts = {
        "operation": operation.id,
        "place": HEAD,
        "tenant": operation.tenant,
        "status": operation.state.value,
        "plan": compact(asked),
        "found": compact(found),
        "counts": compact({outcome.value: count for outcome, count in operation.counts.items()}),
        "why": operation.why,
    }
    numbers = {
        "version": operation.version,
        "run": operation.run,
        "next_page": operation.next_page,
        "canary_passed": int(operation.canary_passed),
        "created": instants.milliseconds(operation.created_at),
        "changed": instants.milliseconds(operation.changed_at),
        "next_at": milliseconds(operation.next_at),
        "started": milliseconds(operation.started_at),
        "began": milliseconds(operation.began_at),
        "finished": milliseconds(operation.finished_at),
        "expires_at": _expiry(operation.id),
    }
    return typed(texts, numbers)


def operation_of(row: AttributeMap) -> Operation:
    asked, found = json.loads(row["plan"]["S"]), json.loads(row["found"]["S"])
    rule = asked["stop_when"]
    return Operation(
        id=row["operation"]["S"],
        tenant=row["tenant"]["S"],
        plan=Plan(
            action=Action(asked["action"]),
            kind=Kind(asked["kind"]),
            actor=asked["actor"],
            reason=asked["reason"],
            operates=asked["operates"],
            max_per_second=asked["max_per_second"],
            canary=asked["canary"],
            stop_when=rule and StopRule(failed_share=rule[0], within=timedelta(seconds=rule[1])),
        ),
        state=State(row["status"]["S"]),
        version=int(row["version"]["N"]),
        created_at=instants.from_milliseconds(int(row["created"]["N"])),
        changed_at=instants.from_milliseconds(int(row["changed"]["N"])),
        eligible=found["eligible"],
        amount=found["amount"],
        evaluated=found["evaluated"],
        not_eligible=found["not_eligible"],
        by_failure=found["by_failure"],
        by_destination=found["by_destination"],
        counts={Outcome(name): count for name, count in json.loads(row["counts"]["S"]).items()},
        run=int(row["run"]["N"]),
        next_page=int(row["next_page"]["N"]),
        next_at=_instant(row, "next_at"),
        canary_passed=row["canary_passed"]["N"] != "0",
        started_at=_instant(row, "started"),
        began_at=_instant(row, "began"),
        finished_at=_instant(row, "finished"),
        why=row["why"]["S"] if "why" in row else None,
    )


def _instant(row: Mapping[str, Any], name: str) -> datetime | None:
    return instant(float(row[name]["N"])) if name in row else None


def _expiry(operation: str) -> int:
    """The same for all rows of an operation: its id begins with the minute in which it was planned."""
    return int((instants.end_of(home(operation).minute) + KEPT).timestamp())


def _page_row(page: Page) -> AttributeMap:
    entries = [
        [each.id, each.version, _SHORT[each.outcome], *([] if each.at is None else [milliseconds(each.at)])]
        for each in page.entries
    ]
    texts = {"operation": page.operation, "place": _place(page.number), "entries": compact(entries)}
    return typed(texts, {"version": page.version, "expires_at": _expiry(page.operation)})


def _page(row: AttributeMap) -> Page:
    return Page(
        operation=row["operation"]["S"],
        number=int(row["place"]["S"].removeprefix(_PAGE)),
        entries=tuple(
            Entry(id=id, version=version, outcome=_LONG[short], at=instant(at[0]) if at else None)
            for id, version, short, *at in json.loads(row["entries"]["S"])
        ),
        version=int(row["version"]["N"]),
    )
