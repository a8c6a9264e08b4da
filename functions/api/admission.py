"""Decides for each request who calls. The gateway remembers the authorizer's answer and cannot forget it, so the key is
looked at again here: a key that was revoked, narrowed or replaced is another one within the time that a row is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from functions.api.caller import Caller
from postdate.domain.errors import Unauthenticated
from postdate.runtime.clock import Clock
from postdate.stores.keys import ApiKey, shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """`key` finds a key by its id, as it was a short time ago at most."""

    key: Callable[[str], ApiKey | None]
    clock: Clock

    def caller(self, request_context: Mapping[str, Any], authorization: str) -> Caller:
        """Raises Unauthenticated for a key that is not good now, and Unavailable if that cannot be told now."""
        if not _may_be_known(request_context):
            raise Unauthenticated
        key = shown(authorization, self.key, now=self.clock.now())
        if key is None:
            raise Unauthenticated
        return Caller.of(key)


def _may_be_known(request_context: Mapping[str, Any]) -> bool:
    """False for a key that the authorizer has found to be none of ours: no row is read for it. What the authorizer
    could not tell is told here."""
    found = (request_context.get("authorizer") or {}).get("lambda") or {}
    return bool(found.get("tenant") or found.get("unavailable"))
