"""The caller of a request, and the rights of the caller's key."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from postdate.domain.errors import Forbidden
from postdate.domain.scopes import INTERNAL, OPS
from postdate.stores.api_key import ApiKey

# The scope of a request that every good key may make.
ANY: Final = "any"


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """`tenant` may be the one that an operator acts for. `accounts` are those that the key may pay from and administer;
    None for all of the tenant's. The other limits are those of the key."""

    # The tenant of the key, or the one that an operator acts for; empty for an operator without one.
    tenant: str
    # The id of the key or of the person.
    key_id: str
    # The scopes of the key.
    scopes: frozenset[str]
    # The accounts that the key may pay from and administer; None for all of the tenant's.
    accounts: frozenset[str] | None = None
    # The greatest amount of one payment; None without a limit of the key's own.
    amount_max: int | None = None
    # The greatest sum of the payments of a day; None without such a limit.
    amount_per_day_max: int | None = None
    # The networks from which the key may be used; None for everywhere.
    networks: tuple[str, ...] | None = None
    # The names of the operations that the key may call; None for all that its scopes allow.
    actions: frozenset[str] | None = None
    # True if the key may only read, whatever its scopes are.
    read_only: bool = False
    # The limit of requests of the key; None for the quota of the tenant alone.
    requests_a_second: int | None = None
    # The instant from which the key is refused; None for a key without an end.
    expires_at: datetime | None = None

    @classmethod
    def of(cls, key: ApiKey, tenant: str) -> "Caller":
        """A key for internal calls is not to be used as a bearer: it keeps no other scope. A tenant's key never has the
        scope of operators, whatever its row says."""
        scopes = frozenset({INTERNAL}) if INTERNAL in key.scopes else key.scopes
        if key.tenant is not None:
            scopes -= {OPS}
        return cls(
            tenant=tenant,
            key_id=key.id,
            scopes=scopes,
            accounts=key.accounts,
            amount_max=key.amount_max,
            amount_per_day_max=key.amount_per_day_max,
            networks=key.networks,
            actions=key.actions,
            read_only=key.read_only,
            requests_a_second=key.requests_a_second,
            expires_at=key.expires_at,
        )

    @property
    def actor(self) -> str:
        """The author of what the caller changes."""
        return f"key:{self.key_id}"

    @property
    def operates(self) -> bool:
        """True for an operator, who may cancel what waits for a person."""
        return OPS in self.scopes

    def needs(self, scope: str) -> "Caller":
        if scope != ANY and scope not in self.scopes:
            raise Forbidden(f"this request needs the scope {scope}")
        return self

    def needs_one(self, first: str, *others: str) -> "Caller":
        """Raises Forbidden for a key that has none of these scopes."""
        return self if not self.scopes.isdisjoint(others) else self.needs(first)

    def performs(self, operation: str, *, scope: str, reads: bool) -> "Caller":
        """Raises Forbidden if the key is restricted to other operations, or to reading. Every key may ask what it
        is."""
        if scope == ANY:
            return self
        if self.read_only and not reads:
            raise Forbidden("this key only reads")
        if self.actions is not None and operation not in self.actions:
            raise Forbidden(f"this key may not ask for {operation}")
        return self

    def pays_from(self, account: str) -> "Caller":
        if self._is_bound_elsewhere(account):
            raise Forbidden(f"this key may not pay from the account {account}")
        return self

    def may_pay_from(self, account: str) -> bool:
        return not self._is_bound_elsewhere(account)

    def administers(self, account: str) -> "Caller":
        if self._is_bound_elsewhere(account):
            raise Forbidden(f"this key may not administer the account {account}")
        return self

    def _is_bound_elsewhere(self, account: str) -> bool:
        return self.accounts is not None and account not in self.accounts
