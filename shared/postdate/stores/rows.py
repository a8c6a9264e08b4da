"""The base of all tables: short timeouts and a few tries, because pynamodb's own defaults wait half a minute.

During a deploy, newer code may write a row that this code cannot read. Such a row is logged and left alone. It hides no
other row, and it does not count as missing: a caller that needs it waits for newer code.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pynamodb.models import Model

from postdate.domain.errors import Unavailable, Unreadable
from postdate.domain.slots import home
from postdate.runtime.observability import logger
from postdate.stores.attributes import AttributeMap

if TYPE_CHECKING:
    from botocore.client import BaseClient

ReadT = TypeVar("ReadT")
ModelT = TypeVar("ModelT", bound=Model)


class TableConnection:
    """The base of each model's Meta."""

    connect_timeout_seconds = 2
    read_timeout_seconds = 3
    max_retry_attempts = 4
    max_pool_connections = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Undecoded:
    """A row with an attribute of another type than the model's."""

    # The last part of its key.
    id: str
    # The place in lists; empty for rows that have none.
    place: str
    # The reason why it cannot be decoded.
    error: Exception


class Row(Model):
    """The base of models whose rows are read many at a time. One row that pynamodb cannot decode would otherwise break
    off the whole answer."""

    @classmethod
    def from_raw_data(cls, data: dict[str, Any]) -> Any:
        try:
            return super().from_raw_data(data)
        except Exception as error:
            # Decoding is pure: the error speaks of this row alone.
            place = data.get("place", {}).get("S", "")
            return Undecoded(id=data[_key_of(cls)]["S"], place=place, error=error)


class FoundRows(dict[str, ReadT]):
    """The rows that were read, by their ids. `unreadable` are ids of rows that exist and that this code cannot read."""

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: set[str] = set()

    def complete(self) -> dict[str, ReadT]:
        """Returns the rows. Raises Unavailable if this code cannot read some of the rows that exist."""
        if self.unreadable:
            raise Unavailable("newer code alone can read some of these items")
        return dict(self)


def found_rows(rows: Iterable[Any], read: Callable[[Any], ReadT]) -> FoundRows[ReadT]:
    answer = FoundRows[ReadT]()
    for row in rows:
        for each in readable([row], read):
            answer[row.id] = each
        if row.id not in answer:
            answer.unreadable.add(row.id)
    return answer


def the_one(row: Any, read: Callable[[Any], ReadT]) -> ReadT:
    """Raises Unreadable for a row that this code cannot read."""
    for each in readable([row], read):
        return each
    raise Unreadable(f"{_name(row)} was written by newer code")


def item_key(id: str) -> AttributeMap:
    """The key of an item's row, in `items` or in `payments`."""
    return {"slot": {"S": home(id).key}, "id": {"S": id}}


def speak_through(model: type[Model], client: "BaseClient | None") -> None:
    """Gives the model the process's client. Without one it makes its own at its first call, with the waits above, which
    takes a good part of a second and another connection."""
    if client is not None:
        model._get_connection().connection._client = client


def table_rows(model: type[ModelT], table: str, client: "BaseClient | None" = None) -> type[ModelT]:
    """The model of the rows of one table, with the process's client. Pynamodb ties a model to its table, and the name
    is known only at run time. A model with indexes needs a class of its own, because an index belongs to one model."""

    class Rows(model):  # type: ignore[misc, valid-type]
        class Meta(TableConnection):
            table_name = table

    speak_through(Rows, client)
    return Rows


def readable(rows: Iterable[Any], read: Callable[[Any], ReadT]) -> Iterator[ReadT]:
    """The rows that this code can read, in their order. Each other row is logged."""
    for row in rows:
        try:
            if isinstance(row, Undecoded):
                raise row.error
            each = read(row)
        except Exception as error:
            # Reading is pure: whatever it raises speaks of this row alone. A list of classes would miss one.
            logger.error(
                "a row cannot be read", extra={"action": "unreadable", "id": _name(row), "error": str(error)}
            )
            continue
        yield each


def _name(row: Any) -> str:
    match row:
        case Undecoded():
            return row.id
        case Row():
            return str(getattr(row, _key_of(type(row))))
        case _:
            return str(row["name"]["S"])


def _key_of(model: type[Model]) -> str:
    return str(model._range_keyname or model._hash_keyname)
