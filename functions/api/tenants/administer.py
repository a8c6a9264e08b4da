"""Makes, changes, suspends and resumes tenants, and rotates their signing secrets. Each is one conditional write. An
erasure is begun here; a state machine carries it out.

Rows hold secrets sealed. A readable signing secret exists in one answer and while a delivery is signed."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from functions.api.switches.turn import Turner
from functions.api.tenants.counting import ErasureCount, ErasureCounter
from functions.api.tenants.edited import check_target, edited, erasing, suspended, with_quotas
from functions.api.tenants.forms import LISTS, EraseForm, SuspendForm, TenantChangeForm, TenantForm
from functions.api.tenants.sealing import sealed
from functions.api.tenants.secret import new_secret
from postdate.domain import instants
from postdate.domain.erasing import Erasure, new_name
from postdate.domain.errors import Conflict, InvalidState, NotFound, ValidationFailed, VersionMismatch
from postdate.domain.scopes import INTERNAL
from postdate.domain.switch import of_tenant
from postdate.domain.tenancy import USUAL
from postdate.runtime.clock import Clock
from postdate.runtime.machine import Machine
from postdate.stores.data_keys import DataKeys
from postdate.stores.erasures import Erasures
from postdate.stores.tenants import Tenant, Tenants
from postdate.stores.vault import KEPT, Vault

_TRIES = 3
_SALT_BYTES = 32
# Clocks of copies differ, and a copy that reads a data key needs a moment.
_CLOCKS_DIFFER = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantWithSecret:
    """A tenant and its new signing secret, which is told only now."""

    # The tenant.
    tenant: Tenant
    # The readable secret.
    secret: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Registry:
    tenants: Tenants
    vault: Vault
    turner: Turner
    data_keys: DataKeys
    erasures: Erasures
    machine: Machine
    counter: ErasureCounter
    clock: Clock

    def make(self, form: TenantForm) -> TenantWithSecret:
        """Raises InvalidState for a tenant that exists. Services' own keys belong to the name of `internal`."""
        secret = new_secret()
        wanted = Tenant(
            id=form.tenant_id,
            destinations=frozenset(
                (kind, each) for name, kind in LISTS.items() for each in getattr(form, name)
            ),
            default_target=None if form.default_target is None else form.default_target.destination(),
            signing_secrets=(secret,),
            tier=form.tier,
            tenancy=replace(with_quotas(USUAL, form.quotas), spread_seconds=form.spread_seconds),
        )
        check_target(wanted)
        # Keys of other services belong to this name.
        if wanted.id == INTERNAL:
            raise _exists(wanted.id)
        wanted = sealed(wanted, self.vault)
        made = replace(wanted, tenancy=replace(wanted.tenancy, version=1))
        if not (self.tenants.change(None, wanted) or self._is_written(made)):
            raise _exists(wanted.id)
        return TenantWithSecret(tenant=made, secret=secret)

    def find(self, id: str) -> Tenant:
        found = self.tenants.get(id)
        if found is None:
            raise NotFound(f"there is no tenant {id}")
        return found

    def erasure(self, tenant: Tenant) -> Erasure | None:
        """The tenant's erasure while it is under way, by its old name or its new one: the row of the old name goes
        first."""
        name = tenant.tenancy.erased_as
        return None if name is None else self.erasures.get(name)

    def count_erasure(self, id: str, cursor: str | None) -> ErasureCount:
        """Counts what an erasure of the tenant would do, or has left to do."""
        if self.find(id).tenancy.erased_as == id:
            raise _erased(id)
        return self.counter.count(id, cursor)

    def edit(self, id: str, form: TenantChangeForm, *, version: int | None = None) -> Tenant:
        return self._changed(id, lambda tenant: sealed(edited(tenant, form), self.vault), version=version)

    def suspend(self, id: str, form: SuspendForm, *, by: str) -> Tenant:
        """Registrations are refused as soon as each copy of the function reads the row again; reads continue.

        With `wait` the tenant's switch stops what is due. The row is written first, so a repetition after a crash in
        between turns the switch. With `run` after `wait` the switch is turned on again.
        """
        waits = form.pending == "wait"
        if self._kept(id).tenancy.pending_waits and not waits:
            self._turn(id, on=True, by=by, why=form.reason)
        after = self._changed(id, lambda tenant: suspended(tenant, form.reason, waits=waits))
        if waits:
            self._turn(id, on=False, by=by, why=form.reason)
        return after

    def resume(self, id: str, *, by: str) -> Tenant:
        """Waiting items go on before the tenant registers again. A switch that an operator turned without a suspension
        stays as it is."""
        if self._kept(id).tenancy.pending_waits:
            self._turn(id, on=True, by=by, why="resumed")
        return self._changed(id, lambda tenant: suspended(tenant, None, waits=False))

    def _turn(self, id: str, *, on: bool, by: str, why: str) -> None:
        self.turner.turn(of_tenant(id), on=on, by=by, why=why)

    def erase(self, id: str, form: EraseForm, *, by: str) -> Tenant:
        """Begins the erasure, or goes on with one whose execution ended before it was over. The row of the new name is
        written before the execution begins, so a repetition after a crash in between goes on from there. Raises
        InvalidState for a tenant that is not suspended or is erased."""
        if form.confirm != id:
            raise ValidationFailed([("confirm", "is not the id of this tenant")])
        known = self.find(id)
        if known.tenancy.erased_as == id:
            raise _erased(id)
        if known.tenancy.suspended_because is None:
            raise InvalidState("ACTIVE", f"the tenant {id} is not suspended")
        if known.tenancy.erased_as is None:
            name = new_name(secrets.token_bytes(_SALT_BYTES))
            known = self._changed(id, lambda tenant: erasing(tenant, name))
        now, name = self.clock.now(), known.tenancy.erased_as or ""
        salt = secrets.token_hex(_SALT_BYTES)
        self.erasures.begin(Erasure(tenant=name, of=id, salt=salt, by=by, began_at=now))
        # Executions of one name begin once, so a repeated request of the same minute begins none.
        self.machine.start(f"{name}-{instants.minute_of(now)}", {"tenant": name})
        return known

    def rotate(self, id: str, *, overlap: timedelta) -> TenantWithSecret:
        """A new secret signs from now on, and the one until now beside it for the overlap. A third one ends at once."""

        secret = new_secret()

        def rotated(tenant: Tenant) -> Tenant:
            kept = tenant.signing_secrets[:1] if overlap else ()
            until = instants.whole(self.clock.now() + overlap) if kept else None
            after = replace(tenant, signing_secrets=(secret, *kept), signing_until=until)
            return sealed(after, self.vault)

        return TenantWithSecret(tenant=self._changed(id, rotated), secret=secret)

    def replace_data_key(self, id: str) -> datetime:
        """Returns the instant from which the new data key seals. Until then every copy of each function has read it.
        Raises Conflict while the last replacement has not begun to seal."""
        now = self.clock.now()
        seals_from = instants.whole(now + KEPT + _CLOCKS_DIFFER)
        self._kept(id)
        self.data_keys.replace(id, seals_from=seals_from, now=now)
        return seals_from

    def _kept(self, id: str) -> Tenant:
        """The tenant. Raises InvalidState for one that is being erased."""
        found = self.find(id)
        if found.tenancy.erased_as is not None:
            raise InvalidState("ERASING", f"the tenant {id} is being erased")
        return found

    def _changed(self, id: str, decide: Callable[[Tenant], Tenant], *, version: int | None = None) -> Tenant:
        """Writes the decided tenant, decided again if another change came first. A tenant that is the same is not
        written. Raises VersionMismatch if the change is for another version."""
        for _ in range(_TRIES):
            before = self._kept(id)
            after = decide(before)
            if after == before:
                return before
            if version not in (None, before.tenancy.version):
                raise VersionMismatch(f"the tenant has version {before.tenancy.version}")
            written = replace(after, tenancy=replace(after.tenancy, version=before.tenancy.version + 1))
            if self.tenants.change(before, after) or self._is_written(written):
                return written
        raise Conflict

    def _is_written(self, wanted: Tenant) -> bool:
        """The write was ours, and its answer was lost. A second rotation would end the secret that should overlap."""
        return self.tenants.get(wanted.id) == wanted


def _erased(id: str) -> InvalidState:
    return InvalidState("ERASED", f"the tenant {id} is erased")


def _exists(id: str) -> InvalidState:
    return InvalidState("ACTIVE", f"the tenant {id} already exists")
