"""The observations of a run so far: all that the checkers look at, and the exception that they raise."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from tests.simulation.engine import Engine, Row
from tests.simulation.hub import Hub
from tests.simulation.mix import Mix
from tests.simulation.poison import POISON, calls_in
from tests.simulation.rows import ITEM_TABLES, is_item_row

if TYPE_CHECKING:
    from tests.simulation.restricted import Key


class Broken(BaseException):
    """An invariant does not hold. No `except Exception` of the code under test hides it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taken:
    """One attempt as its destination saw it."""

    task: str
    tenant: str
    run: str
    attempt: int
    token: int
    at: int
    worker: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """The answer to one attempt, as its worker got it: whether the destination itself is in trouble."""

    tenant: str
    address: str
    down: bool
    at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfilled:
    """The promise to a caller that asked for the runs of a past time, in milliseconds."""

    definition: str
    operation: str
    first: int
    last: int
    runs: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An answer to a client: `status` is the item's."""

    request: str
    http: int
    item: str | None
    version: int
    status: str | None
    tenant: str
    at: int


@dataclass(kw_only=True, slots=True)
class Seen:
    """`began` is what the run began with, whatever has stopped since; `calm_at` is when it did. `definitions` are all
    versions of each, with the instant of each; `untried` the runs and tokens under which nothing was sent; `places`
    and `begun` those of each key with a rate, `opened` when a destination was last given up, `paused` since when a
    key is paused, `stopped` since when a switch is off, `generations` the place of each item in a line of deliveries
    that register each other, `registered` when each tenant registered something, `stored` the number of its tasks.
    `calls` is how often each item was called; `doubled` are items whose call two workers had at once, `had_last`
    those whose call was given for the last time, `lost` those whose call vanished, `under_way` those that had
    changed when a restore took their call, `owners` the tenants of all items and definitions, `pointers` the slots
    that point to an item, `bodies` those that each key was given with, `damaged` by how much the row of an account
    was changed by hand. `written` is when
    each of them was, `poison` how much of it each queue was sent. `operated` and `called` are operations and the items
    that they changed, or sent calls of; `looked` is the newest version of each item that each worker of operations
    asked for, `reported` what the worker knew that ended each operation. `executions` are those that
    are not over, with their operations, `restricted` the keys with restrictions by their ids."""

    hub: Hub
    engine: Engine
    began: Mix
    calm_at: int | None = None
    taken: list[Taken] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    keys: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    damaged: Counter[str] = field(default_factory=Counter)
    bodies: dict[tuple[str, str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    heard: list[Heard] = field(default_factory=list)
    untried: set[tuple[str, int]] = field(default_factory=set)
    waits: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    slow_since: dict[tuple[str, str], int] = field(default_factory=dict)
    definitions: dict[str, list[tuple[int, Row]]] = field(default_factory=dict)
    planned: set[tuple[str, int, int]] = field(default_factory=set)
    triggers: Counter[str] = field(default_factory=Counter)
    backfilled: list[Backfilled] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    begun: Counter[str] = field(default_factory=Counter)
    opened: dict[tuple[str, str], int] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    registered: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    stored: Counter[str] = field(default_factory=Counter)
    paused: dict[str, int] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    doubled: set[str] = field(default_factory=set)
    under_way: set[str] = field(default_factory=set)
    had_last: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    pointers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    owners: dict[str, str] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    poison: Counter[str] = field(default_factory=Counter)
    probes: Counter[tuple[str, str]] = field(default_factory=Counter)
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    down_since: dict[tuple[str, str], int] = field(default_factory=dict)
    recovers: dict[tuple[str, str], tuple[int, list[int], int]] = field(default_factory=dict)
    settled: Counter[str] = field(default_factory=Counter)
    open: set[str] = field(default_factory=set)
    reach: Counter[str] = field(default_factory=Counter)
    audited: list[str] = field(default_factory=list)
    operated: set[tuple[str, str]] = field(default_factory=set)
    called: set[tuple[str, str]] = field(default_factory=set)
    looked: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    reported: dict[str, dict[str, int]] = field(default_factory=dict)
    executions: dict[str, str] = field(default_factory=dict)
    restricted: "dict[str, Key]" = field(default_factory=dict)

    def item(self, id: str) -> Row | None:
        return next((row for row in self.rows() if row["id"]["S"] == id), None)

    def items(self) -> Iterator[Row]:
        return (row for row in self.rows() if is_item_row(row))

    def rows(self) -> Iterator[Row]:
        """Items, definitions and pointers."""
        return chain.from_iterable(self.engine.rows(table) for table in ITEM_TABLES)

    def entries(self, operation: str) -> list[list[Any]]:
        """Each item of the operation: its id, the planned version, and the first letter of its outcome."""
        rows = self.engine.rows_of("operations", operation)
        pages = [row for row in rows if row["place"]["S"].startswith("page#")]
        return [entry for row in pages for entry in json.loads(row["entries"]["S"])]

    def planned_items(self, operation: str) -> dict[str, int]:
        return {id: version for id, version, *_ in self.entries(operation)}

    def letters(self) -> set[tuple[str, int]]:
        """The items and versions that dead letters speak of."""
        return {
            (id, version)
            for queue in ("tasks-dlq", "payments-dlq")
            for message in self.engine.messages(queue)
            for id, version, _ in calls_in(message["body"])
        }

    def buried_poison(self, queue: str) -> list[dict[str, Any]]:
        return [message for message in self.engine.messages(f"{queue}-dlq") if message["body"] in POISON]

    def definition(self, id: str, *, before: int) -> Row | None:
        """Returns the definition of that instant."""
        return next((row for at, row in reversed(self.definitions.get(id, [])) if at <= before), None)
