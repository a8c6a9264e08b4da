"""Who calls: what the authorizer found out about the key, as every route uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postdate.domain.errors import Forbidden, Unauthenticated, Unavailable


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    tenant: str
    key_id: str
    scopes: frozenset[str]

    @classmethod
    def of(cls, request_context: Mapping[str, Any]) -> "Caller":
        found = (request_context.get("authorizer") or {}).get("lambda") or {}
        if found.get("unavailable"):
            raise Unavailable
        if not found.get("tenant"):
            raise Unauthenticated
        return cls(tenant=found["tenant"], key_id=found["key_id"], scopes=frozenset(found["scopes"].split()))

    def needs(self, scope: str) -> "Caller":
        if scope not in self.scopes:
            raise Forbidden(f"this needs the scope {scope}")
        return self
