"""How every table is spoken to: short waits and a few tries, because pynamodb's own defaults wait half a minute."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from postdate.runtime.observability import logger

ReadT = TypeVar("ReadT")


class Connection:
    """The base of each model's Meta."""

    connect_timeout_seconds = 2
    read_timeout_seconds = 3
    max_retry_attempts = 4
    max_pool_connections = 32


def readable(rows: Iterable[Any], read: Callable[[Any], ReadT]) -> Iterator[ReadT]:
    """Newer code may have written what this code does not know: that row is left out, and said, and no other."""
    for row in rows:
        try:
            yield read(row)
        except (ValueError, TypeError, KeyError) as error:
            logger.error(
                "a row cannot be read", extra={"action": "unreadable", "id": row.id, "error": str(error)}
            )
