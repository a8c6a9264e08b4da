"""The guards before each use case: the caller's key, the tenant, limits, quotas and switches."""

from datetime import timedelta
from typing import Final

from functions.api.admission import Admission
from functions.api.events.waiting import WaitingSeats
from functions.api.keys.rehash import Rehash
from functions.api.limits import quotas
from functions.api.limits.meter import Meter
from functions.api.limits.of_keys import KeyMeter
from functions.api.limits.stored import StoredTasks
from functions.api.parts.base import Base
from functions.api.parts.tables import Tables
from functions.api.tasks.checks.places import PlaceCheck
from functions.api.tenants.sealing import migrated
from postdate.domain.errors import Unavailable
from postdate.runtime.cached import Cached
from postdate.runtime.documents import fetch_document
from postdate.runtime.issuer import person_by
from postdate.runtime.parameters import CurrentParameters
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.switchboard import Switchboard
from postdate.stores.tenants import Tenant
from postdate.stores.vault import Vault

# How long a suspended tenant still registers.
_TENANT_KEPT: Final = timedelta(seconds=5)
# How long a revoked key still works. Each copy of the function reads a key that it is shown once in that time.
_KEY_KEPT: Final = timedelta(seconds=2)
# How long a switch that was turned still has its former position for requests.
_SWITCHES_KEPT: Final = timedelta(milliseconds=1500)


class Guards:
    """Every request needs its tenant and its key, so both are remembered. Requests that administer keys read the rows
    themselves.

    `vault` seals what a tenant's row of an older release keeps readable. `hashes` checks the secret of a key, and
    `rehash` replaces its hash of an older release."""

    def __init__(
        self,
        base: Base,
        tables: Tables,
        *,
        parameters: CurrentParameters,
        vault: Vault,
        hashes: KeyHashes,
        rehash: Rehash,
    ) -> None:
        self._tables = tables
        self._parameters = parameters
        self._vault = vault
        clock, flow = base.clock, tables.flow
        self.tenants = Cached(self._loaded, keep=_TENANT_KEPT, clock=clock)
        self.keys = Cached(tables.keys.get, keep=_KEY_KEPT, clock=clock)
        self.switchboard = Switchboard(switches=tables.switches, clock=clock, read_every=_SWITCHES_KEPT)
        self.stored = StoredTasks(flow=flow, clock=clock)
        self.seats = WaitingSeats(flow=flow, clock=clock, total=base.given.waiting_requests)
        self.places = PlaceCheck(flow=flow, clock=clock)
        self.meter = Meter(flow=flow, clock=clock, find=self.tenant)
        self.key_meter = KeyMeter(flow=flow, clock=clock)
        self.admission = Admission(
            key=self.keys.get,
            is_tenant=lambda id: self.tenants.get(id) is not None,
            hashes=hashes,
            keep=rehash.keep,
            count=self.key_meter.take,
            person=person_by(base.given.oidc, fetch=fetch_document, clock=clock),
            clock=clock,
        )

    def tenant(self, id: str) -> Tenant:
        """A quota protects the service and is no reason for it to fail: without the row the usual one counts."""
        try:
            known = self.tenants.get(id)
        except Unavailable:
            known = None
        return quotas.applied(known or Tenant(id=id), self._parameters.values.quotas)

    def _loaded(self, id: str) -> Tenant | None:
        found = self._tables.tenants.get(id)
        return None if found is None else migrated(found, tenants=self._tables.tenants, vault=self._vault)
