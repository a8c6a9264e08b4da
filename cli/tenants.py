"""Tenants and their keys, made by whoever may write to the tables: there is no HTTP way to the first of them."""

import base64
import secrets
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from postdate.domain.task import Destination
from postdate.runtime.clock import SystemClock
from postdate.stores.keys import INTERNAL, OPS, ApiKey, DynamoKeys, Keys, bearer_text, hash_of
from postdate.stores.tenants import DynamoTenants, Tenant

# What a key has unless more is asked for.
READS: Final = frozenset({"payments:read", "tasks:read", "accounts:read"})
WRITES: Final = frozenset({"payments:write", "tasks:write"})
ADMIN: Final = "admin"
# What can be asked for. The scope of operators comes with an operator's key alone.
SCOPES: Final = READS | WRITES | {ADMIN}
OPERATOR: Final = READS | {OPS}
SQS: Final = "sqs"
INTERNAL_SLOTS: Final = ("internal1", "internal2")
KEPT_AFTER_ROTATION: Final = timedelta(hours=1)


def tenant(
    table: str,
    id: str,
    *,
    destinations: Iterable[tuple[str, str]] = (),
    default_queue: str | None = None,
) -> Tenant:
    """The tenant, allowed these pairs of kind and address beside what it may use already. Its signing
    secret stays what it was, and so does its default target unless a queue is named."""
    tenants = DynamoTenants(table=table)
    known = tenants.get(id) or Tenant(id=id, signing_secrets=(_signing_secret(),))
    allowed, usual = known.destinations | frozenset(destinations), known.default_target
    if default_queue is not None:
        allowed, usual = allowed | {(SQS, default_queue)}, Destination(type=SQS, address=default_queue)
    wanted = replace(known, destinations=allowed, default_target=usual)
    tenants.put(wanted)
    return wanted


def key(
    table: str, tenant: str, scopes: frozenset[str] = READS, *, accounts: frozenset[str] | None = None
) -> str:
    """A new key of that tenant, as the text its holder sends. Only its hash is kept: it is told once."""
    return _kept(DynamoKeys(table=table), secrets.token_hex(8), tenant, scopes, accounts)


def operator_key(table: str, scopes: frozenset[str] = OPERATOR) -> str:
    """A new key of an operator, who belongs to no tenant. It is told once."""
    return _kept(DynamoKeys(table=table), secrets.token_hex(8), None, scopes | {OPS})


def internal_token(table: str) -> str:
    """A new token for what only our own operators' tools may call. The one before it is good for another hour."""
    return rotated(DynamoKeys(table=table), now=SystemClock().now())


def rotated(keys: Keys, *, now: datetime) -> str:
    """There are two at most: the new one takes the place of the one that ends first.

    The other's end is set beforehand, so that a run that breaks off is simply repeated and finds the same place.
    """
    known = {slot: keys.get(slot) for slot in INTERNAL_SLOTS}
    place = min(INTERNAL_SLOTS, key=lambda slot: _end(known[slot]))
    for slot, other in known.items():
        if slot != place and other is not None:
            keys.put(replace(other, expires_at=min(_end(other), now + KEPT_AFTER_ROTATION)))
    return _kept(keys, place, INTERNAL, frozenset({INTERNAL}))


def _end(key: ApiKey | None) -> datetime:
    if key is None:
        return datetime.min.replace(tzinfo=UTC)
    return key.expires_at or datetime.max.replace(tzinfo=UTC)


def _kept(
    keys: Keys,
    id: str,
    tenant: str | None,
    scopes: frozenset[str],
    accounts: frozenset[str] | None = None,
) -> str:
    secret = secrets.token_urlsafe(32)
    keys.put(ApiKey(id=id, secret_sha256=hash_of(secret), tenant=tenant, scopes=scopes, accounts=accounts))
    return bearer_text(id, secret)


def _signing_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
