"""A tenant's settings: what it may call, and how its webhooks are signed."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from pynamodb.attributes import ListAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist

from postdate.domain.task import Destination
from postdate.stores.attributes import compact
from postdate.stores.faults import translated
from postdate.stores.rows import Connection, Row, speak_through, the_one
from postdate.stores.task_row import destination_of, destination_values

if TYPE_CHECKING:
    from botocore.client import BaseClient


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """`destinations` are the pairs of kind and address that tasks may go to, of kinds that have a list.
    `default_target` is where jobs go that name no target; None if each has to name one.
    `signing_secrets`: the newest first; two of them live side by side while one replaces the other."""

    id: str
    destinations: frozenset[tuple[str, str]] = frozenset()
    default_target: Destination | None = None
    signing_secrets: tuple[str, ...] = ()

    def allowed(self, kind: str) -> frozenset[str]:
        """The addresses of this kind."""
        return frozenset(address for each, address in self.destinations if each == kind)


_LISTS_BEFORE: Final = {"queue_urls": "sqs", "buses": "eventbridge"}


class Tenants(Protocol):
    def get(self, id: str) -> Tenant | None: ...

    def put(self, tenant: Tenant) -> None: ...

    def ids(self) -> list[str]:
        """Of all tenants, by a scan: for what a person does, never for a request."""


class _Row(Row):
    """A destination is kept as `<kind> <address>`. Rows of older code have a list for each of two kinds. Both lists are
    still written: after a roll-back, older code reads only them."""

    tenant = UnicodeAttribute(hash_key=True)
    destinations: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    queue_urls: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    buses: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    default_target = UnicodeAttribute(null=True)
    signing_secrets: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)


class DynamoTenants:
    def __init__(self, *, table: str, client: "BaseClient | None" = None) -> None:
        class Rows(_Row):
            class Meta(Connection):
                table_name = table

        speak_through(Rows, client)
        self._rows = Rows

    def get(self, id: str) -> Tenant | None:
        with translated():
            try:
                row = self._rows.get(id)
            except DoesNotExist:
                return None
        return the_one(row, _tenant_of)

    def put(self, tenant: Tenant) -> None:
        row = self._rows(
            tenant=tenant.id,
            destinations=sorted(f"{kind} {address}" for kind, address in tenant.destinations),
            default_target=tenant.default_target and compact(destination_values(tenant.default_target)),
            signing_secrets=list(tenant.signing_secrets),
        )
        for name, kind in _LISTS_BEFORE.items():
            setattr(row, name, sorted(tenant.allowed(kind)))
        with translated():
            row.save()

    def ids(self) -> list[str]:
        with translated():
            return sorted(row.tenant for row in self._rows.scan(attributes_to_get=["tenant"]))


def _tenant_of(row: _Row) -> Tenant:
    before = {(kind, address) for name, kind in _LISTS_BEFORE.items() for address in getattr(row, name)}
    kept = {(kind, address) for kind, _, address in (each.partition(" ") for each in row.destinations)}
    return Tenant(
        id=row.tenant,
        destinations=frozenset(before | kept),
        default_target=destination_of(json.loads(row.default_target)) if row.default_target else None,
        signing_secrets=tuple(row.signing_secrets),
    )


class MemoryTenants:
    def __init__(self, *tenants: Tenant) -> None:
        self._tenants = {tenant.id: tenant for tenant in tenants}

    def get(self, id: str) -> Tenant | None:
        return self._tenants.get(id)

    def put(self, tenant: Tenant) -> None:
        self._tenants[tenant.id] = tenant

    def ids(self) -> list[str]:
        return sorted(self._tenants)
