"""Tenants and their keys, made by whoever may write to the tables: there is no HTTP way to the first of them."""

import base64
import secrets
from typing import Final

from postdate.stores.keys import ApiKey, DynamoKeys, bearer_text, hash_of
from postdate.stores.tenants import DynamoTenants, Tenant

SCOPES: Final = frozenset(
    {"payments:write", "payments:read", "tasks:write", "tasks:read", "accounts:read", "ops"}
)


def tenant(table: str, id: str, *, queue_urls: frozenset[str] = frozenset()) -> Tenant:
    """The tenant, allowed these queues beside those it may use already. Its signing secret stays what it was."""
    tenants = DynamoTenants(table=table)
    known = tenants.get(id) or Tenant(id=id, signing_secrets=(_signing_secret(),))
    wanted = Tenant(id=id, queue_urls=known.queue_urls | queue_urls, signing_secrets=known.signing_secrets)
    tenants.put(wanted)
    return wanted


def key(table: str, tenant: str, scopes: frozenset[str] = SCOPES) -> str:
    """A new key of that tenant, as the text its holder sends. Only its hash is kept: it is told once."""
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    DynamoKeys(table=table).put(
        ApiKey(id=key_id, secret_sha256=hash_of(secret), tenant=tenant, scopes=scopes)
    )
    return bearer_text(key_id, secret)


def _signing_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
