"""A tenant's settings: what it may call, and how its webhooks are signed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from postdate.domain.limits import REGISTERED_A_SECOND_OF
from postdate.domain.task import Destination
from postdate.domain.tenancy import USUAL, Tenancy
from postdate.runtime.metric import STANDARD


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """A tenant and its settings."""

    # The name that an operator chose.
    id: str
    # One of a few names. Metrics count by it, and quotas follow it.
    tier: str = STANDARD
    # The share of its tasks of which the workers log each decision, from 0 to 1.
    log_share: float = 0.0
    # The addresses that its tasks may go to, with their kinds; of kinds that have a list.
    destinations: frozenset[tuple[str, str]] = frozenset()
    # The destination of jobs that name none; None if each has to name one.
    default_target: Destination | None = None
    # The secrets that sign its webhooks, the newest first: two while one replaces the other. Rows keep them
    # sealed.
    signing_secrets: tuple[str, ...] = ()
    # The instant from which the second secret signs no more; None for no end.
    signing_until: datetime | None = None
    # The settings that only operators decide.
    tenancy: Tenancy = USUAL
    # The numbers of changes that were told as events, of the tenant and of its signing secret.
    events: int = field(default=0, compare=False)
    rotations: int = field(default=0, compare=False)

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """The secrets that sign now."""
        is_over = self.signing_until is not None and now >= self.signing_until
        return self.signing_secrets[:1] if is_over else self.signing_secrets

    @property
    def quota(self) -> int:
        """Number of tasks and payments that the tenant may register a second."""
        return self.tenancy.registered_a_second or REGISTERED_A_SECOND_OF[self.tier]

    def allowed(self, kind: str) -> frozenset[str]:
        """The addresses of this kind."""
        return frozenset(address for each, address in self.destinations if each == kind)


class Tenants(Protocol):
    def get(self, id: str) -> Tenant | None: ...

    def get_many(self, ids: Iterable[str]) -> Mapping[str, Tenant]:
        """Returns those of these tenants that exist. Raises Unavailable if some cannot be read."""
        ...

    def put(self, tenant: Tenant) -> None: ...

    def change(self, before: Tenant | None, after: Tenant) -> bool:
        """Writes `after` with the next version. False if the row is no longer of the version of `before`; None for a
        tenant that does not exist yet."""
        ...

    def ids(self) -> list[str]:
        """Returns the ids of all tenants by a scan: for requests of operators, never of tenants. Erased tenants are
        left out."""


def with_next_version(before: Tenant | None, after: Tenant) -> Tenant:
    version = 1 if before is None else before.tenancy.version + 1
    return replace(after, tenancy=replace(after.tenancy, version=version))
