"""Who calls: what the authorizer found out about the key, as every route uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postdate.domain.errors import Forbidden, Unauthenticated, Unavailable


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """`accounts` are those that the key may pay from; None for all of its tenant's."""

    tenant: str
    key_id: str
    scopes: frozenset[str]
    accounts: frozenset[str] | None = None

    @classmethod
    def of(cls, request_context: Mapping[str, Any]) -> "Caller":
        found = (request_context.get("authorizer") or {}).get("lambda") or {}
        if found.get("unavailable"):
            raise Unavailable
        if not found.get("tenant"):
            raise Unauthenticated
        bound = (found.get("accounts") or "").split()
        return cls(
            tenant=found["tenant"],
            key_id=found["key_id"],
            scopes=frozenset(found["scopes"].split()),
            accounts=frozenset(bound) if bound else None,
        )

    def needs(self, scope: str) -> "Caller":
        if scope not in self.scopes:
            raise Forbidden(f"this needs the scope {scope}")
        return self

    def pays_from(self, account: str) -> "Caller":
        if self.accounts is not None and account not in self.accounts:
            raise Forbidden(f"this key may not pay from the account {account}")
        return self
