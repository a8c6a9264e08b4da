"""Who calls, and what the caller's key may do."""

from dataclasses import dataclass

from postdate.domain.errors import Forbidden
from postdate.stores.keys import INTERNAL, ApiKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """`accounts` are those that the key may pay from; None for all of its tenant's."""

    tenant: str
    key_id: str
    scopes: frozenset[str]
    accounts: frozenset[str] | None = None

    @classmethod
    def of(cls, key: ApiKey) -> "Caller":
        """A key for internal calls is not to be used as a bearer: it keeps no other scope."""
        scopes = frozenset({INTERNAL}) if INTERNAL in key.scopes else key.scopes
        return cls(tenant=key.tenant, key_id=key.id, scopes=scopes, accounts=key.accounts)

    def needs(self, scope: str) -> "Caller":
        if scope not in self.scopes:
            raise Forbidden(f"this needs the scope {scope}")
        return self

    def pays_from(self, account: str) -> "Caller":
        if self.accounts is not None and account not in self.accounts:
            raise Forbidden(f"this key may not pay from the account {account}")
        return self
