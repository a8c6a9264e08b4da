"""Quotas of tiers, as the parameters have them."""

from dataclasses import replace

from postdate.domain.limits import REGISTERED_A_SECOND_OF
from postdate.domain.parameters import Quotas
from postdate.stores.tenants import Tenant


def applied(tenant: Tenant, quotas: Quotas) -> Tenant:
    """The tenant with the quota of its tier, unless it has one of its own; the same object for the usual quota."""
    quota = quotas.of(tenant.tier)
    if tenant.tenancy.registered_a_second is not None or quota == REGISTERED_A_SECOND_OF[tenant.tier]:
        return tenant
    return replace(tenant, tenancy=replace(tenant.tenancy, registered_a_second=quota))
