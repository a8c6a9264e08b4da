"""One kind of destination, as the rest of Postdate sees it. `registry.KINDS` lists all of them."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from postdate.domain.errors import DestinationNotAllowed
from postdate.domain.sealed import hash_of_sealed
from postdate.domain.task import Destination
from postdate.targets.base import Target

_CALLS_AT_ONCE: Final = 4
# In place of a value in a row of an older release, which no worker has sealed yet.
HIDDEN: Final = "***"


class Shape(Enum):
    """Type of a member's value. An answer shows names and keyed hashes of PAIRS: a value may be a credential."""

    TEXT = auto()
    NAME = auto()
    PAIRS = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A field of a destination in requests and answers."""

    # The name of the field in the API.
    name: str
    # The attribute of `Destination` that keeps it.
    of: str
    # The text for the API's description.
    meaning: str
    # The form of the value. PAIRS may be left out; every other member is needed.
    shape: Shape = Shape.TEXT
    # The allowed values, the default first; empty if any text will do.
    words: tuple[str, ...] = ()

    def kept(self, given: Any) -> Any:
        return tuple(given.items()) if self.shape is Shape.PAIRS else given

    def shown(self, destination: Destination) -> Any:
        kept = getattr(destination, self.of)
        if self.shape is not Shape.PAIRS:
            return kept
        hashes = {name: hash_of_sealed(text) for name, text in destination.sealed}
        return {name: HIDDEN for name, _ in kept} | hashes


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """The list of allowed addresses of a kind, and the option of `postdate tenant` that fills it."""

    # The thing that an address names; also the name of the option.
    noun: str
    # The option's value, in the help.
    metavar: str
    # The option's line in the help.
    help: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """The service of AWS behind a kind."""

    # The name in ARNs and clients.
    name: str
    # The operation that a worker calls.
    operation: str
    # The action by which IAM checks the call.
    action: str
    # The resource in an ARN, with `{}` in place of its name.
    resource: str = "{}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """The parts that targets are built from."""

    # Makes a client of a service.
    client: Callable[[str], Any]
    # Tells the time.
    now: Callable[[], datetime]
    # True if webhooks may call loopback.
    loopback_allowed: bool
    # The threads for calls to AWS; None to give each target four of its own.
    pool: Executor | None = None

    def threads(self, name: str) -> Executor:
        return self.pool or ThreadPoolExecutor(_CALLS_AT_ONCE, thread_name_prefix=name)


Check: TypeAlias = Callable[[Destination, bool], object]


def _passes(destination: Destination, loopback_allowed: bool) -> None:
    """Refuses nothing, for kinds that check the tenant's list only."""


def _same(address: str) -> str:
    return address


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetKind:
    """All properties of one sort of destination."""

    # The `type` of a destination.
    name: str
    # The beginning of the names of its schemas.
    title: str
    # The fields of its address.
    members: tuple[Member, ...]
    # Builds the target.
    make: Callable[[Parts], Target]
    # Raises a PostdateError for a destination that may not be called. The second argument is true if loopback may be.
    check: Check = _passes
    # Returns the part of an address that fails as a whole, for the breaker.
    circuit: Callable[[str], str] = _same
    # The tenant's list of allowed addresses; None for a kind without a list.
    listed: Listed | None = None
    # The service of AWS that a worker calls; None for HTTP.
    service: Service | None = None

    def refuse(self, destination: Destination, *, allowed: Collection[str], loopback_allowed: bool) -> None:
        """Raises a PostdateError for a destination that may not be called now. `allowed` is the tenant's list."""
        if self.listed is not None:
            check_listed(self.listed, destination.address, allowed)
        self.check(destination, loopback_allowed)

    def destination(self, given: Mapping[str, Any]) -> Destination:
        kept = {member.of: member.kept(given[member.name]) for member in self.members}
        return Destination(type=self.name, **kept)

    def view(self, destination: Destination) -> dict[str, Any]:
        """The destination as its owner sees it."""
        return {"type": self.name, **{member.name: member.shown(destination) for member in self.members}}


def check_listed(listed: Listed, address: str, allowed: Collection[str]) -> None:
    """Raises DestinationNotAllowed unless the list has this very address: our role may send to more."""
    if address not in allowed:
        raise DestinationNotAllowed(f"the {listed.noun} is not on the tenant's list")
