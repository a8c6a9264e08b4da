"""The dependencies whose breakers are open, as each function told them: rows of the service in the table `flow`.

A row that nobody renews counts no more some minutes after its breaker could be tried: a copy that ended tells nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from postdate.domain import instants
from postdate.domain.dependency import CLOSED, Health
from postdate.domain.errors import Unavailable
from postdate.runtime import metric
from postdate.runtime.clock import Clock
from postdate.runtime.dependencies import Dependencies
from postdate.runtime.observability import emit, logger
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

# No tenant has this name.
OWNER: Final = "@service"
COUNTS_FOR: Final = timedelta(minutes=2)
_PREFIX: Final = "dependency#"
_EXPIRES_AFTER: Final = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failing:
    """One function's open breaker."""

    # The table, or the service.
    name: str
    # The function that feels it.
    function: str
    # The instant at which the breaker opened.
    since: datetime
    # The instant from which a call may try.
    open_until: datetime
    # The newest failure.
    error: str


class FailingDependencies(Protocol):
    def tell(self, name: str, health: Health, *, now: datetime) -> None:
        """Notes what this function knows of a dependency. Raises Unavailable."""

    def failing(self, now: datetime) -> list[Failing]:
        """Returns the dependencies with an open breaker, in the order of their names."""


class DynamoDependencies:
    def __init__(self, *, table: str, client: "BaseClient", function: str) -> None:
        self._table = table
        self._client = client
        self._function = function

    def tell(self, name: str, health: Health, *, now: datetime) -> None:
        since, until = health.since or now, health.open_until or now
        values = {
            ":opened": {"N": str(health.opened)},
            ":since": {"N": str(instants.milliseconds(since))},
            ":until": {"N": str(instants.milliseconds(until))},
            ":error": {"S": health.error},
            ":expires": {"N": str(int((now + _EXPIRES_AFTER).timestamp()))},
        }
        with translated():
            self._client.update_item(
                TableName=self._table,
                Key={"tenant": {"S": OWNER}, "name": {"S": f"{_PREFIX}{name}#{self._function}"}},
                UpdateExpression="SET #opened = :opened, #since = :since, #until = :until, #error = :error, "
                "#expires = :expires",
                ExpressionAttributeNames=_NAMES,
                ExpressionAttributeValues=values,
            )

    def failing(self, now: datetime) -> list[Failing]:
        with translated():
            rows = self._client.query(
                TableName=self._table,
                KeyConditionExpression="#tenant = :owner AND begins_with(#name, :prefix)",
                ExpressionAttributeNames={"#tenant": "tenant", "#name": "name"},
                ExpressionAttributeValues={":owner": {"S": OWNER}, ":prefix": {"S": _PREFIX}},
                ConsistentRead=True,
            )["Items"]
        found = [_failing(row) for row in rows if int(row["opened"]["N"])]
        return [each for each in found if now < each.open_until + COUNTS_FOR]


_NAMES: Final[Mapping[str, str]] = {
    "#opened": "opened",
    "#since": "since",
    "#until": "open_until",
    "#error": "error",
    "#expires": "expires_at",
}
# The attributes that a function may write, its key included.
ATTRIBUTES: Final = ("tenant", "name", *_NAMES.values())


class MemoryDependencies:
    """The twin in memory, for unit tests."""

    def __init__(self, function: str = "test") -> None:
        self.function = function
        self.known: dict[str, Health] = {}
        self.unreachable = False

    def tell(self, name: str, health: Health, *, now: datetime) -> None:
        if self.unreachable:
            raise Unavailable
        self.known[name] = health

    def failing(self, now: datetime) -> list[Failing]:
        return [
            Failing(
                name=name,
                function=self.function,
                since=each.since or now,
                open_until=each.open_until or now,
                error=each.error,
            )
            for name, each in sorted(self.known.items())
            if each.opened and now < (each.open_until or now) + COUNTS_FOR
        ]


class Reporter:
    """Tells after an event what changed in it. A change that cannot be told now is told after a later event."""

    def __init__(self, dependencies: Dependencies, failing: FailingDependencies, clock: Clock) -> None:
        self._dependencies = dependencies
        self._failing = failing
        self._clock = clock
        self._told: dict[str, Health] = {}

    def tell(self) -> None:
        now = self._clock.now()
        for name, health in self._dependencies.known().items():
            # Openings and closings are told, single failures are not.
            if health.opened == self._told.get(name, CLOSED).opened:
                continue
            logger.warning(
                "a dependency fails" if health.opened else "a dependency answers again",
                extra={"action": "dependency", "dependency": name, "reason": health.error},
            )
            emit(metric.DEPENDENCIES_OPENED, 1 if health.opened else 0)
            try:
                self._failing.tell(name, health, now=now)
            except Unavailable:
                return
            self._told[name] = health


def _failing(row: AttributeMap) -> Failing:
    name, _, function = row["name"]["S"].removeprefix(_PREFIX).rpartition("#")
    return Failing(
        name=name,
        function=function,
        since=instants.from_milliseconds(int(row["since"]["N"])),
        open_until=instants.from_milliseconds(int(row["open_until"]["N"])),
        error=row["error"]["S"],
    )
