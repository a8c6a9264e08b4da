"""Payloads that are too large for their task's row, each in a row of its own.

One is written before the task that names it, so a task never lacks its payload; what a crash leaves behind expires.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist

from postdate.stores import batch_get
from postdate.stores.faults import translated
from postdate.stores.rows import Row, found_rows, table_rows, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient


class Payloads(Protocol):
    def put(self, key: str, text: str, *, keep_until: datetime) -> None: ...

    def get(self, key: str) -> str | None: ...

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        """Returns the payloads that exist."""


class _Row(Row):
    id = UnicodeAttribute(hash_key=True)
    text = UnicodeAttribute()
    expires_at = NumberAttribute()


class DynamoPayloads:
    def __init__(self, *, table: str, client: "BaseClient | None" = None) -> None:
        self._rows = table_rows(_Row, table, client)

    def put(self, key: str, text: str, *, keep_until: datetime) -> None:
        with translated():
            self._rows(id=key, text=text, expires_at=int(keep_until.timestamp())).save()

    def get(self, key: str) -> str | None:
        with translated():
            try:
                row = self._rows.get(key, consistent_read=True)
            except DoesNotExist:
                return None
        return the_one(row, _text_of)

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        asked = ({"id": {"S": key}} for key in dict.fromkeys(keys))
        return found_rows(batch_get.models(self._rows, asked), _text_of)


def _text_of(row: _Row) -> str:
    return row.text


class MemoryPayloads:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def put(self, key: str, text: str, *, keep_until: datetime) -> None:
        self._texts[key] = text

    def get(self, key: str) -> str | None:
        return self._texts.get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, str]:
        return {key: self._texts[key] for key in keys if key in self._texts}
