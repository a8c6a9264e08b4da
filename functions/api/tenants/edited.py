"""Decides how a tenant's row changes. Nothing is read or written here."""

from dataclasses import replace

from functions.api.tenants.forms import LISTS, QuotasForm, TenantChangeForm
from postdate.domain.tenancy import Tenancy
from postdate.stores.tenants import Tenant
from postdate.targets.kind import check_listed
from postdate.targets.registry import KINDS


def edited(tenant: Tenant, form: TenantChangeForm) -> Tenant:
    replaced = {kind for name, kind in LISTS.items() if getattr(form, name) is not None}
    # A list in the form replaces the whole list of its kind. Kinds without a list stay.
    kept = {pair for pair in tenant.destinations if pair[0] not in replaced}
    given = {(kind, each) for name, kind in LISTS.items() for each in getattr(form, name) or ()}
    target = tenant.default_target
    if form.removes_target:
        target = None
    elif form.default_target is not None:
        target = form.default_target.destination()
    known = tenant.tenancy if form.quotas is None else with_quotas(tenant.tenancy, form.quotas)
    if form.spread_seconds is not None:
        known = replace(known, spread_seconds=form.spread_seconds)
    edited = replace(
        tenant,
        destinations=frozenset(kept | given),
        default_target=target,
        tier=form.tier or tenant.tier,
        tenancy=known,
    )
    check_target(edited)
    return edited


def with_quotas(known: Tenancy, quotas: QuotasForm) -> Tenancy:
    """`null` is the usual number. A quota that is left out stays."""
    given = quotas.model_fields_set
    return replace(
        known,
        registered_a_second=quotas.registered_per_second
        if "registered_per_second" in given
        else known.registered_a_second,
        runs_in_flight=quotas.runs_in_flight if "runs_in_flight" in given else known.runs_in_flight,
    )


def suspended(tenant: Tenant, reason: str | None, *, waits: bool) -> Tenant:
    """`reason` is None for a tenant that is resumed."""
    return replace(tenant, tenancy=replace(tenant.tenancy, suspended_because=reason, pending_waits=waits))


def erasing(tenant: Tenant, name: str) -> Tenant:
    return replace(tenant, tenancy=replace(tenant.tenancy, erased_as=name))


def check_target(tenant: Tenant) -> None:
    target = tenant.default_target
    if target is not None and (listed := KINDS[target.type].listed) is not None:
        check_listed(listed, target.address, tenant.allowed(target.type))
