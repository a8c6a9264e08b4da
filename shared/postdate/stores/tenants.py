"""A tenant's settings: what it may call, and how its webhooks are signed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pynamodb.attributes import ListAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist

from postdate.stores.faults import translated
from postdate.stores.rows import Connection, Row, speak_through, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """`signing_secrets`: the newest first; two of them live side by side while one replaces the other."""

    id: str
    queue_urls: frozenset[str] = frozenset()
    buses: frozenset[str] = frozenset()
    signing_secrets: tuple[str, ...] = ()


class Tenants(Protocol):
    def get(self, id: str) -> Tenant | None: ...

    def put(self, tenant: Tenant) -> None: ...

    def ids(self) -> list[str]:
        """Of all tenants, by a scan: for what a person does, never for a request."""


class _Row(Row):
    tenant = UnicodeAttribute(hash_key=True)
    queue_urls: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
    buses: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, default=list)
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
            queue_urls=sorted(tenant.queue_urls),
            buses=sorted(tenant.buses),
            signing_secrets=list(tenant.signing_secrets),
        )
        with translated():
            row.save()

    def ids(self) -> list[str]:
        with translated():
            return sorted(row.tenant for row in self._rows.scan(attributes_to_get=["tenant"]))


def _tenant_of(row: _Row) -> Tenant:
    return Tenant(
        id=row.tenant,
        queue_urls=frozenset(row.queue_urls),
        buses=frozenset(row.buses),
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
