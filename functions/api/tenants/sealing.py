"""Seals the secrets in a tenant's row: its signing secrets, and the headers of its default target."""

from contextlib import suppress
from dataclasses import replace

from postdate.domain.errors import Unavailable
from postdate.domain.sealed import is_sealed
from postdate.stores.tenants import Tenant, Tenants
from postdate.stores.vault import SIGNING, Vault


def sealed(tenant: Tenant, vault: Vault) -> Tenant:
    """The tenant with all its secrets sealed by the current data key, also those that an earlier key sealed. Raises
    Unavailable."""
    target = tenant.default_target
    return replace(
        tenant,
        signing_secrets=tuple(
            vault.renewed(tenant.id, SIGNING, each)
            if is_sealed(each)
            else vault.seal(tenant.id, SIGNING, each)
            for each in tenant.signing_secrets
        ),
        default_target=None
        if target is None
        else vault.renewed_headers(tenant.id, vault.sealed(tenant.id, target)),
    )


def migrated(tenant: Tenant, *, tenants: Tenants, vault: Vault) -> Tenant:
    """Seals what a row of an older release keeps readable. Without KMS the row stays as it is until its next read, and
    the tenant's request goes on."""
    target = tenant.default_target
    if all(map(is_sealed, tenant.signing_secrets)) and not (target and target.headers):
        return tenant
    with suppress(Unavailable):
        tenants.change(tenant, sealed(tenant, vault))
    return tenant
