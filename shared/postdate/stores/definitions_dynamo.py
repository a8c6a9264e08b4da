"""Definitions in DynamoDB: rows of the table `items` in a minute that no sweep visits."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from pynamodb.exceptions import DoesNotExist

from postdate.domain.definition import Definition, is_definition
from postdate.domain.errors import Unavailable
from postdate.domain.slots import home
from postdate.domain.transitions import Transition
from postdate.runtime.author import nobody
from postdate.stores import batch_get, definition_row, task_row
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.rows import FoundRows, found_rows, item_key, table_rows, the_one
from postdate.stores.statements import Statement, Statements
from postdate.stores.tasks import Written

if TYPE_CHECKING:
    from botocore.client import BaseClient


class DynamoDefinitions:
    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient",
        listing_shards: int,
        retention: timedelta,
        author: Callable[[], str] = nobody,
    ) -> None:
        self._author = author
        self._rows = table_rows(definition_row.DefinitionRow, table, client)
        self._statements = Statements(table=table, client=client)
        self._listing_shards = listing_shards
        self._retention = retention

    def get(self, id: str) -> Definition | None:
        if not is_definition(id):
            return None
        with translated():
            try:
                row = self._rows.get(home(id).key, id, consistent_read=True)
            except DoesNotExist:
                return None
        return the_one(row, definition_row.definition_of)

    def get_many(self, ids: Iterable[str]) -> FoundRows[Definition]:
        keys = (item_key(id) for id in dict.fromkeys(ids) if is_definition(id))
        return found_rows(batch_get.models(self._rows, keys), definition_row.definition_of)

    def add(self, definition: Definition) -> Written:
        """DynamoDB does not say what stands in an insert's way, so it is read."""
        attributes = self._attributes(definition, by=self._author())
        (written,) = self._statements.execute([self._statements.insert(attributes)])
        if written is not Written.CONFLICT:
            return written
        try:
            stored = self.get(definition.id)
        except Unavailable:
            return Written.UNAVAILABLE
        return (
            Written.DONE
            if stored and self._attributes(stored) == self._attributes(definition)
            else Written.CONFLICT
        )

    def change(self, before: Definition, after: Definition, ended: Transition | None = None) -> Written:
        update = self._statements.update(
            self._attributes(before), self._attributes(after, by=self._author()), unchanged=("version",)
        )
        if ended is not None:
            return self._statements.execute_together(update, self._end(ended))
        (written,) = self._statements.execute([update])
        return written

    def _end(self, ended: Transition) -> Statement:
        run, after = (
            task_row.attributes_of(each, listing_shards=self._listing_shards, retention=self._retention)
            for each in (ended.before, ended.after.signed(self._author()))
        )
        return self._statements.update(run, after, unchanged=("version",))

    def _attributes(self, definition: Definition, *, by: str = "") -> AttributeMap:
        return definition_row.attributes_of(
            definition, listing_shards=self._listing_shards, retention=self._retention, by=by
        )
