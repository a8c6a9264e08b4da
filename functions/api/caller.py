"""Who calls, and what the caller's key may do."""

from dataclasses import dataclass

from postdate.domain.errors import Forbidden
from postdate.stores.keys import INTERNAL, OPS, ApiKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """`tenant` may be the one that an operator acts for. `accounts` are those that the key may pay from and administer;
    None for all of the tenant's."""

    tenant: str
    key_id: str
    scopes: frozenset[str]
    accounts: frozenset[str] | None = None

    @classmethod
    def of(cls, key: ApiKey, tenant: str) -> "Caller":
        """A key for internal calls is not to be used as a bearer: it keeps no other scope. A tenant's key never has the
        scope of operators, whatever its row says."""
        scopes = frozenset({INTERNAL}) if INTERNAL in key.scopes else key.scopes
        if key.tenant is not None:
            scopes -= {OPS}
        return cls(tenant=tenant, key_id=key.id, scopes=scopes, accounts=key.accounts)

    @property
    def operates(self) -> bool:
        """True for an operator, who may cancel what waits for a person."""
        return OPS in self.scopes

    def needs(self, scope: str) -> "Caller":
        if scope not in self.scopes:
            raise Forbidden(f"this request needs the scope {scope}")
        return self

    def pays_from(self, account: str) -> "Caller":
        if self._is_bound_elsewhere(account):
            raise Forbidden(f"this key may not pay from the account {account}")
        return self

    def administers(self, account: str) -> "Caller":
        if self._is_bound_elsewhere(account):
            raise Forbidden(f"this key may not administer the account {account}")
        return self

    def _is_bound_elsewhere(self, account: str) -> bool:
        return self.accounts is not None and account not in self.accounts
