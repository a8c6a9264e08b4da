"""Tenants in memory, for tests."""

from collections.abc import Iterable, Mapping

from postdate.domain.erasing import is_erased
from postdate.stores.tenants import Tenant, with_next_version


class MemoryTenants:
    def __init__(self, *tenants: Tenant) -> None:
        self._tenants = {tenant.id: tenant for tenant in tenants}

    def get(self, id: str) -> Tenant | None:
        return self._tenants.get(id)

    def get_many(self, ids: Iterable[str]) -> Mapping[str, Tenant]:
        return {id: self._tenants[id] for id in ids if id in self._tenants}

    def put(self, tenant: Tenant) -> None:
        self._tenants[tenant.id] = tenant

    def change(self, before: Tenant | None, after: Tenant) -> bool:
        stored = self._tenants.get(after.id)
        if (stored and stored.tenancy.version) != (before and before.tenancy.version):
            return False
        self._tenants[after.id] = with_next_version(before, after)
        return True

    def ids(self) -> list[str]:
        return sorted(id for id in self._tenants if not is_erased(id))
