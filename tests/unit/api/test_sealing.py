from functions.api.tenants.sealing import migrated
from postdate.domain.errors import Unavailable
from postdate.domain.task import Destination
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.tenants import Tenant
from postdate.stores.tenants_memory import MemoryTenants
from postdate.stores.vault import SIGNING, Vault
from tests.unit.doubles import ManualClock

OLD = Tenant(
    id="acme",
    signing_secrets=("whsec_bmV3", "whsec_b2xk"),
    default_target=Destination(type="webhook", address="https://example.com", headers=(("X-A", "1"),)),
)


class NoDataKeys(MemoryDataKeys):
    def provide(self, owner: str) -> bytes:
        raise Unavailable


def test_a_tenant_of_an_older_release_is_sealed_when_it_is_read():
    tenants, vault = MemoryTenants(OLD), Vault(data_keys=MemoryDataKeys(), clock=ManualClock())
    assert migrated(OLD, tenants=tenants, vault=vault) == OLD
    stored = tenants.get("acme")
    assert "whsec_" not in repr(stored)
    assert tuple(vault.open("acme", SIGNING, each) for each in stored.signing_secrets) == OLD.signing_secrets
    assert vault.opened("acme", stored.default_target) == OLD.default_target
    assert migrated(stored, tenants=tenants, vault=vault) == stored == tenants.get("acme")


def test_without_kms_the_row_stays_and_the_request_goes_on():
    tenants, vault = MemoryTenants(OLD), Vault(data_keys=NoDataKeys(), clock=ManualClock())
    assert migrated(OLD, tenants=tenants, vault=vault) == OLD == tenants.get("acme")
