"""How every table is spoken to: short waits and a few tries, because pynamodb's own defaults wait half a minute."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from pynamodb.models import Model

from postdate.runtime.observability import logger
from postdate.stores.attributes import AttributeMap

ReadT = TypeVar("ReadT")


class Connection:
    """The base of each model's Meta."""

    connect_timeout_seconds = 2
    read_timeout_seconds = 3
    max_retry_attempts = 4
    max_pool_connections = 32


def names_in(model: type[Model]) -> frozenset[str]:
    """The attributes that this code knows of."""
    return frozenset(attribute.attr_name for attribute in model.get_attributes().values())


def as_known(stored: AttributeMap, names: frozenset[str]) -> AttributeMap:
    """Without what only newer code knows of: it is in nobody's way, and stays where it is."""
    return {name: value for name, value in stored.items() if name in names}


def readable(rows: Iterable[Any], read: Callable[[Any], ReadT]) -> Iterator[ReadT]:
    """Newer code may have written what this code does not know: that row is left out, and said, and no other."""
    for row in rows:
        try:
            yield read(row)
        except (ValueError, TypeError, KeyError) as error:
            logger.error(
                "a row cannot be read", extra={"action": "unreadable", "id": row.id, "error": str(error)}
            )
