"""Events in DynamoDB. They are written by PartiQL's INSERT alone: it refuses a row that exists, so a role with this
right and no other cannot change what is recorded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.errors import Unavailable
from postdate.domain.event import Event, Subject
from postdate.stores import batch_get, event_row
from postdate.stores.attributes import AttributeMap
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.faults import passes, translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

# BatchExecuteStatement takes 25 statements.
_AT_ONCE: Final = 25
# Amazon's engines name it in either of these ways.
_DUPLICATE: Final = frozenset({"DuplicateItem", "ConditionalCheckFailed"})
_DUPLICATE_MESSAGE: Final = "Duplicate primary key exists in table"


class DynamoEvents:
    def __init__(self, *, table: str, client: "BaseClient", kept: timedelta) -> None:
        self._table = table
        self._client = client
        self._kept = kept

    def put(self, events: Sequence[Event], *, after: Mapping[str, int]) -> dict[str, int]:
        rows = {
            event.id: event_row.attributes_of(event, after=after[event.subject.tenant], kept=self._kept)
            for event in events
        }
        there = [id for id, written in self._inserted(rows).items() if not written]
        found = self._rows(_key(rows[id]) for id in there) if there else []
        return {event_row.event_of(row).id: event_row.after_of(row) for row in found}

    def append(self, page: FeedPage) -> bool:
        return self._inserted({page.tenant: event_row.page_attributes(page, kept=self._kept)})[page.tenant]

    def pages(
        self,
        tenant: str,
        *,
        after: int = 0,
        limit: int,
        newest_first: bool = False,
        before: int | None = None,
    ) -> list[FeedPage]:
        last = 10**12 - 1 if before is None else before - 1
        if last <= after:
            return []
        found = self._query(event_row.feed_key(tenant), after + 1, last, limit, newest_first=newest_first)
        return [event_row.page_of(row) for row in found]

    def listed(self, tenant: str, entries: Iterable[FeedEntry]) -> dict[FeedEntry, Event]:
        keys = (
            (Subject(tenant=tenant, kind=each.kind, id=each.id), each.sequence)
            for each in dict.fromkeys(entries)
        )
        return {FeedEntry.of(event): event for event in self.some(keys).values()}

    def some(self, keys: Iterable[tuple[Subject, int]]) -> dict[tuple[Subject, int], Event]:
        rows = self._rows(
            {
                "subject": {"S": event_row.subject_key(subject)},
                "sequence": {"S": event_row.number_key(sequence)},
            }
            for subject, sequence in dict.fromkeys(keys)
        )
        return {(event.subject, event.sequence): event for event in map(event_row.event_of, rows)}

    def of(self, subject: Subject, *, after: int = 0, limit: int) -> list[Event]:
        found = self._query(event_row.subject_key(subject), after + 1, 10**12 - 1, limit)
        return [event_row.event_of(row) for row in found]

    def _inserted(self, rows: Mapping[str, AttributeMap]) -> dict[str, bool]:
        """Writes the rows; maps each id to True if written and False if the row existed. Raises Unavailable if a
        row could not be written: the caller then repeats all of them."""
        written: dict[str, bool] = {}
        for chunk in _chunks(rows):
            requests = [self._insert(rows[id]) for id in chunk]
            with translated():
                responses = self._client.batch_execute_statement(Statements=requests)["Responses"]
            for id, response in zip(chunk, responses, strict=True):
                written[id] = _is_written(response.get("Error"))
        return written

    def _insert(self, row: AttributeMap) -> dict[str, Any]:
        fields = ",".join(f"'{name}':?" for name in row)
        return {
            "Statement": f'INSERT INTO "{self._table}" VALUE {{{fields}}}',
            "Parameters": list(row.values()),
        }

    def _rows(self, keys: Iterable[AttributeMap]) -> list[AttributeMap]:
        return batch_get.rows(self._client, self._table, keys)

    def _query(
        self, subject: str, first: int, last: int, limit: int, *, newest_first: bool = False
    ) -> Iterator[AttributeMap]:
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "#subject = :subject AND #sequence BETWEEN :first AND :last",
            "ExpressionAttributeNames": {"#subject": "subject", "#sequence": "sequence"},
            "ExpressionAttributeValues": {
                ":subject": {"S": subject},
                ":first": {"S": event_row.number_key(first)},
                ":last": {"S": event_row.number_key(last)},
            },
            "ConsistentRead": True,
            "ScanIndexForward": not newest_first,
        }
        while limit > 0:
            with translated():
                answer = self._client.query(**asked, Limit=limit)
            yield from answer["Items"]
            limit -= len(answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _key(row: AttributeMap) -> AttributeMap:
    return {name: row[name] for name in ("subject", "sequence")}


def _chunks(rows: Mapping[str, AttributeMap]) -> Iterator[list[str]]:
    ids = list(rows)
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]


def _is_written(error: Mapping[str, Any] | None) -> bool:
    """False for a row that exists already. Raises Unavailable for an error that passes."""
    if error is None:
        return True
    code = error["Code"].removesuffix("Exception")
    if code in _DUPLICATE or error.get("Message") == _DUPLICATE_MESSAGE:
        return False
    if passes(code):
        raise Unavailable(code)
    raise RuntimeError(f"DynamoDB refused a row: {code}: {error.get('Message')}")
