"""What a fresh local stack gets so that it can be used: two tenants, their keys, and a queue to send tasks to."""

import base64
import secrets
from typing import Final

from cli.local import aws
from postdate.stores.keys import ApiKey, DynamoKeys, bearer_text, hash_of
from postdate.stores.tenants import DynamoTenants, Tenant

DESTINATION: Final = "postdate-local-destination"
SCOPES: Final = frozenset(
    {"payments:write", "payments:read", "tasks:write", "tasks:read", "accounts:read", "ops"}
)


def destination_queue() -> str:
    return str(aws.client("sqs").create_queue(QueueName=DESTINATION)["QueueUrl"])


def tenant(table: str, id: str, *, queue_urls: frozenset[str] = frozenset()) -> Tenant:
    """The tenant, allowed these queues. Its signing secret stays what it was."""
    tenants = DynamoTenants(table=table)
    known = tenants.get(id)
    seeded = Tenant(
        id=id,
        queue_urls=queue_urls,
        signing_secrets=known.signing_secrets if known else (_signing_secret(),),
    )
    if seeded != known:
        tenants.put(seeded)
    return seeded


def key(table: str, tenant: str, scopes: frozenset[str] = SCOPES) -> str:
    """A new key of that tenant, as the text its holder sends."""
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    DynamoKeys(table=table).put(
        ApiKey(id=key_id, secret_sha256=hash_of(secret), tenant=tenant, scopes=scopes)
    )
    return bearer_text(key_id, secret)


def _signing_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
