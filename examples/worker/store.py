"""The worker's memory: the work and the key that it belongs to, written in one transaction."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from enum import Enum, auto
from pathlib import Path
from typing import TypeAlias

Work: TypeAlias = Callable[[sqlite3.Connection], None]


class Seen(Enum):
    """The knowledge about a run: NEW is to be done, DONE was done before, OVERTAKEN has a newer attempt elsewhere."""

    NEW = auto()
    DONE = auto()
    OVERTAKEN = auto()


class Store:
    """One SQLite file. Each call opens its own connection, so any thread may call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(self._connection()) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, token INTEGER NOT NULL, done INTEGER NOT NULL)"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS orders (key TEXT NOT NULL, text TEXT NOT NULL)")

    def begin(self, key: str, token: int) -> Seen:
        """Notes the token of an attempt whose work is done later."""
        return self._within(key, token, None)

    def finish(self, key: str, token: int, work: Work) -> Seen:
        """Does the work and notes the key, both or neither. NEW says that this call did it."""
        return self._within(key, token, work)

    def orders(self) -> list[tuple[str, str]]:
        with closing(self._connection()) as connection:
            return connection.execute("SELECT key, text FROM orders").fetchall()

    def _within(self, key: str, token: int, work: Work | None) -> Seen:
        with closing(self._connection()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                seen = _seen(connection, key, token)
                if seen is Seen.NEW:
                    if work is not None:
                        work(connection)
                    connection.execute("REPLACE INTO runs VALUES (?, ?, ?)", (key, token, work is not None))
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        return seen

    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=5, isolation_level=None)


def _seen(connection: sqlite3.Connection, key: str, token: int) -> Seen:
    found = connection.execute("SELECT token, done FROM runs WHERE key = ?", (key,)).fetchone()
    if found is None:
        return Seen.NEW
    highest, done = found
    if done:
        return Seen.DONE
    return Seen.OVERTAKEN if token < highest else Seen.NEW
