"""A request's bearer key -> who is calling: tenant, scopes and accounts, or nobody.

It never refuses: the API answers for an unknown key itself, so that this refusal too is a problem with a code. It is
asked for each request and remembers keys for a while, so a revoked key is refused everywhere within that time.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any

from functions.authorize.settings import Settings
from postdate.domain.errors import Unavailable
from postdate.runtime import settings
from postdate.runtime.cached import Cached
from postdate.runtime.clock import SystemClock
from postdate.runtime.observability import count, logger, metrics
from postdate.stores.keys import INTERNAL, ApiKey, DynamoKeys, split

NO_ACCOUNT = "-"


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        self.keys = Cached(
            DynamoKeys(table=given.keys_table).get,
            keep=timedelta(seconds=given.key_cache_seconds),
            clock=self.clock,
        )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    found = {"tenant": "", "key_id": "", "scopes": "", "accounts": ""}
    try:
        key = _key(event.get("headers", {}).get("authorization", ""))
    except Unavailable:
        logger.exception("a key could not be read", extra={"action": "key_not_read"})
        count("KeysNotRead")
        return {"isAuthorized": True, "context": {**found, "unavailable": "true"}}
    count("KeysAccepted" if key else "KeysRefused")
    if key is not None:
        found = context_of(key)
    return {"isAuthorized": True, "context": found}


def context_of(key: ApiKey) -> dict[str, str]:
    """What the API is told, which takes no lists. No accounts named means all of them, so a key that is bound to none
    names one that cannot be. A key for internal calls is not to be used as a bearer: it keeps no other scope."""
    scopes = {INTERNAL} if INTERNAL in key.scopes else key.scopes
    bound = "" if key.accounts is None else " ".join(sorted(key.accounts)) or NO_ACCOUNT
    return {"tenant": key.tenant, "key_id": key.id, "scopes": " ".join(sorted(scopes)), "accounts": bound}


def _key(authorization: str) -> ApiKey | None:
    scheme, _, bearer = authorization.partition(" ")
    parts = split(bearer.strip()) if scheme.lower() == "bearer" else None
    if parts is None:
        return None
    key = wired().keys.get(parts[0])
    return key if key is not None and key.accepts(parts[1], now=wired().clock.now()) else None
