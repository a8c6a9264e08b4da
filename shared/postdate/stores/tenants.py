"""A tenant's settings: what it may call, and how its webhooks are signed."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Protocol

from pynamodb.attributes import BooleanAttribute, ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist, PutError

from postdate.domain.erasing import is_erased
from postdate.domain.limits import REGISTERED_A_SECOND_OF
from postdate.domain.sealed import is_sealed
from postdate.domain.task import Destination
from postdate.domain.tenancy import USUAL, Tenancy
from postdate.runtime.author import nobody
from postdate.runtime.metric import STANDARD, TIERS
from postdate.stores import notes
from postdate.stores.attributes import compact, instant, milliseconds
from postdate.stores.faults import is_refused, translated
from postdate.stores.notes import Note
from postdate.stores.rows import Row, table_rows, the_one
from postdate.stores.template_values import destination_of, destination_values

if TYPE_CHECKING:
    from botocore.client import BaseClient


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """`tier` is one of a few names: metrics are counted by it, and quotas follow it.
    `log_share` is the share of its tasks of which the workers log each decision, from 0 to 1.
    `destinations` are the pairs of kind and address that tasks may go to, of kinds that have a list.
    `default_target` is where jobs go that name no target; None if each has to name one.
    `signing_secrets`: the newest first; two of them live side by side while one replaces the other.
    `signing_until`: the instant from which the second secret signs no more; None for no end.
    `events` and `rotations` count the changes of the tenant and of its signing secret that were told as events."""

    id: str
    tier: str = STANDARD
    log_share: float = 0.0
    destinations: frozenset[tuple[str, str]] = frozenset()
    default_target: Destination | None = None
    signing_secrets: tuple[str, ...] = ()
    signing_until: datetime | None = None
    tenancy: Tenancy = USUAL
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


# The kind of the subject of its events.
SECRET: Final = "secret"  # noqa: S105 (a name)
_LISTS_BEFORE: Final = {"queue_urls": "sqs", "buses": "eventbridge"}


class Tenants(Protocol):
    def get(self, id: str) -> Tenant | None: ...

    def put(self, tenant: Tenant) -> None: ...

    def change(self, before: Tenant | None, after: Tenant) -> bool:
        """Writes `after` with the next version. False if the row is no longer of the version of `before`; None for a
        tenant that does not exist yet."""
        ...

    def ids(self) -> list[str]:
        """Returns the ids of all tenants by a scan: for requests of operators, never of tenants. Erased tenants are
        left out."""


class _Row(Row):
    """A destination is kept as `<kind> <address>`. Rows of older code have a list for each of two kinds. Both lists are
    still written: after a roll-back, older code reads only them."""

    tenant = UnicodeAttribute(hash_key=True)
    log_share = NumberAttribute(null=True)
    destinations: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    queue_urls: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    buses: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    default_target = UnicodeAttribute(null=True)
    signing_secrets: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    signing_until = NumberAttribute(null=True)
    tier = UnicodeAttribute(null=True)
    registered_a_second = NumberAttribute(null=True)
    runs_in_flight = NumberAttribute(null=True)
    spread_seconds = NumberAttribute(null=True)
    suspended_because = UnicodeAttribute(null=True)
    pending_waits = BooleanAttribute(null=True)
    erased_as = UnicodeAttribute(null=True)
    version = NumberAttribute(null=True)
    events = NumberAttribute(null=True)
    rotations = NumberAttribute(null=True)
    note = UnicodeAttribute(null=True)


class DynamoTenants:
    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient | None" = None,
        author: Callable[[], str] = nobody,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`author` and the instant `now` are noted in changes that are told as events."""

        self._rows = table_rows(_Row, table, client)
        self._author = author
        self._now = now

    def get(self, id: str) -> Tenant | None:
        with translated():
            try:
                row = self._rows.get(id)
            except DoesNotExist:
                return None
        return the_one(row, _tenant_of)

    def put(self, tenant: Tenant) -> None:
        with translated():
            self._row(tenant).save()

    def change(self, before: Tenant | None, after: Tenant) -> bool:
        version: Any = self._rows.version
        if before is None:
            unchanged: Any = self._rows.tenant.does_not_exist()
        elif before.tenancy.version:
            unchanged = version == before.tenancy.version
        else:
            unchanged = self._rows.tenant.exists() & version.does_not_exist()
        names = _told(before, after)
        counted = replace(
            _next(before, after),
            events=(before.events if before else 0) + ("tenant" in names),
            rotations=(before.rotations if before else 0) + (SECRET in names),
        )
        row = self._row(counted)
        if names:
            told = [Note(type=".".join(name), at=self._now(), by=self._author()) for name in names.items()]
            row.note = notes.text_of(told)
        with translated():
            try:
                row.save(condition=unchanged)
            except PutError as error:
                if not is_refused(error):
                    raise
                return False
        return True

    def _row(self, tenant: Tenant) -> _Row:
        known = tenant.tenancy
        row = self._rows(
            tenant=tenant.id,
            tier=tenant.tier,
            log_share=tenant.log_share or None,
            destinations=sorted(f"{kind} {address}" for kind, address in tenant.destinations),
            default_target=tenant.default_target and compact(destination_values(tenant.default_target)),
            signing_secrets=list(tenant.signing_secrets),
            signing_until=milliseconds(tenant.signing_until),
            registered_a_second=known.registered_a_second,
            runs_in_flight=known.runs_in_flight,
            spread_seconds=known.spread_seconds or None,
            suspended_because=known.suspended_because,
            pending_waits=known.pending_waits or None,
            erased_as=known.erased_as,
            version=known.version or None,
            events=tenant.events or None,
            rotations=tenant.rotations or None,
        )
        for name, kind in _LISTS_BEFORE.items():
            setattr(row, name, sorted(tenant.allowed(kind)))
        return row

    def ids(self) -> list[str]:
        with translated():
            found = [row.tenant for row in self._rows.scan(attributes_to_get=["tenant"])]
        return sorted(id for id in found if not is_erased(id))


def _tenant_of(row: _Row) -> Tenant:
    before = {(kind, address) for name, kind in _LISTS_BEFORE.items() for address in getattr(row, name)}
    kept = {(kind, address) for kind, _, address in (each.partition(" ") for each in row.destinations)}
    return Tenant(
        id=row.tenant,
        tier=row.tier if row.tier in TIERS else STANDARD,
        log_share=float(row.log_share or 0),
        destinations=frozenset(before | kept),
        default_target=destination_of(json.loads(row.default_target)) if row.default_target else None,
        signing_secrets=tuple(row.signing_secrets),
        signing_until=instant(row.signing_until),
        tenancy=Tenancy(
            registered_a_second=_number(row.registered_a_second),
            runs_in_flight=_number(row.runs_in_flight),
            spread_seconds=int(row.spread_seconds or 0),
            suspended_because=row.suspended_because,
            pending_waits=bool(row.pending_waits),
            erased_as=row.erased_as,
            version=int(row.version or 0),
        ),
        events=int(row.events or 0),
        rotations=int(row.rotations or 0),
    )


def _number(value: float | None) -> int | None:
    return None if value is None else int(value)


def _told(before: Tenant | None, after: Tenant) -> dict[str, str]:
    """The names of a change's events, by the kinds of their subjects. Empty if secrets were sealed and nothing else
    changed."""
    if before is None:
        return {"tenant": "created"}
    found = {SECRET: "rotated"} if _is_rotated(before, after) else {}
    if before.tenancy.suspended_because != after.tenancy.suspended_because:
        found["tenant"] = "resumed" if after.tenancy.suspended_because is None else "suspended"
    elif _described(before) != _described(after):
        found["tenant"] = "changed"
    return found


def _is_rotated(before: Tenant, after: Tenant) -> bool:
    """False for the secrets of before in their sealed form."""
    pairs = zip_longest(before.signing_secrets, after.signing_secrets, fillvalue="")
    sealed = all(new == old or (is_sealed(new) and old and not is_sealed(old)) for old, new in pairs)
    return not (sealed and before.signing_until == after.signing_until)


def _described(tenant: Tenant) -> object:
    target = tenant.default_target
    headers = () if target is None else sorted(name for name, _ in (*target.headers, *target.sealed))
    return (
        *(tenant.tier, tenant.log_share, tenant.destinations),
        target and (target.type, target.address, tuple(headers)),
        replace(tenant.tenancy, version=0),
    )


def _next(before: Tenant | None, after: Tenant) -> Tenant:
    version = 1 if before is None else before.tenancy.version + 1
    return replace(after, tenancy=replace(after.tenancy, version=version))


class MemoryTenants:
    def __init__(self, *tenants: Tenant) -> None:
        self._tenants = {tenant.id: tenant for tenant in tenants}

    def get(self, id: str) -> Tenant | None:
        return self._tenants.get(id)

    def put(self, tenant: Tenant) -> None:
        self._tenants[tenant.id] = tenant

    def change(self, before: Tenant | None, after: Tenant) -> bool:
        stored = self._tenants.get(after.id)
        if (stored and stored.tenancy.version) != (before and before.tenancy.version):
            return False
        self._tenants[after.id] = _next(before, after)
        return True

    def ids(self) -> list[str]:
        return sorted(id for id in self._tenants if not is_erased(id))
