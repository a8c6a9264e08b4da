"""Tenants and their keys, made with the right to write to the tables: there is no HTTP way to the first of them."""

import base64
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cli.failure import Failure
from infra.environment import Environment
from postdate.domain.scopes import INTERNAL, OF_TENANTS, OPS
from postdate.domain.task import Destination
from postdate.runtime.clock import SystemClock
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.key_text import bearer_text, new_id, new_secret
from postdate.stores.keys import Keys
from postdate.stores.keys_dynamo import DynamoKeys
from postdate.stores.tenants import Tenant
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.stores.vault import SIGNING, Vault

# The scopes of a key unless more are asked for.
READS: Final = frozenset({"payments:read", "tasks:read", "accounts:read", "events:read"})
ADMIN: Final = "admin"
# The scopes that can be asked for. The scope of operators comes with an operator's key alone.
SCOPES: Final = frozenset(OF_TENANTS)
# An application's key: it neither administers nor makes keys.
USUAL: Final = SCOPES - {ADMIN, "keys:write"}
# With the scope of operators alone a key audits any tenant, and redrives its dead letters.
OPERATOR: Final = READS | {OPS}
SQS: Final = "sqs"
INTERNAL_SLOTS: Final = ("internal1", "internal2")
KEPT_AFTER_ROTATION: Final = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyTable:
    """The table of API keys, and the hashes in it."""

    keys: Keys
    hashes: KeyHashes


def vault(table: str, environment: Environment, *, kms: Callable[[], Any]) -> Vault:
    """Opens and seals with the key of the environment; `table` is that of the data keys."""
    return Vault(data_keys=_data_keys(table, environment, kms), clock=SystemClock())


def key_table(table: str, data_keys: str, environment: Environment, *, kms: Callable[[], Any]) -> KeyTable:
    """`table` is that of the keys, `data_keys` that of the data keys."""
    hashes = KeyHashes(_data_keys(data_keys, environment, kms))
    return KeyTable(keys=DynamoKeys(table=table), hashes=hashes)


def _data_keys(table: str, environment: Environment, kms: Callable[[], Any]) -> KmsDataKeys:
    return KmsDataKeys(table=table, kms=kms, key_id=f"alias/{environment.named('secrets')}")


def tenant(
    table: str,
    id: str,
    *,
    vault: Vault,
    destinations: Iterable[tuple[str, str]] = (),
    default_queue: str | None = None,
) -> Tenant:
    """The tenant, allowed these pairs of kind and address beside what it may use already. Its signing
    secret stays what it was, and so does its default target unless a queue is named. The answer's signing secrets are
    readable; those of the row are not. Raises Failure if another writer changed the tenant meanwhile."""
    tenants = DynamoTenants(table=table)
    before = tenants.get(id)
    known = before or Tenant(id=id, signing_secrets=(vault.seal(id, SIGNING, _signing_secret()),))
    allowed, usual = known.destinations | frozenset(destinations), known.default_target
    if default_queue is not None:
        allowed, usual = allowed | {(SQS, default_queue)}, Destination(type=SQS, address=default_queue)
    wanted = replace(known, destinations=allowed, default_target=usual)
    if wanted != before and not tenants.change(before, wanted):
        raise Failure(f"The tenant {id} was changed at the same time: try again.")
    secrets_now = tuple(vault.open(id, SIGNING, each) for each in wanted.signing_secrets)
    return replace(wanted, signing_secrets=secrets_now)


def log_share(table: str, id: str, share: float, *, client: Any = None) -> None:
    """Sets the share of the tenant's tasks of which each decision is logged. Raises Failure for an unknown tenant."""
    tenants = DynamoTenants(table=table, client=client)
    known = tenants.get(id)
    if known is None:
        raise Failure(f"There is no tenant {id}.")
    if not tenants.change(known, replace(known, log_share=share)):
        raise Failure(f"The tenant {id} was changed at the same time: try again.")


def key(
    table: KeyTable, tenant: str, scopes: frozenset[str] = READS, *, accounts: frozenset[str] | None = None
) -> str:
    """A new key of that tenant, as the text its holder sends. Only its hash is kept: it is told once."""
    return _kept(table, new_id(), tenant, scopes, accounts)


def operator_key(table: KeyTable, scopes: frozenset[str] = OPERATOR) -> str:
    """A new key of an operator, who belongs to no tenant. It is told once."""
    return _kept(table, new_id(), None, scopes | {OPS})


def internal_token(table: KeyTable) -> str:
    """A new token for what only our own operators' tools may call. The one before it is good for another hour."""
    return rotated(table, now=SystemClock().now())


def rotated(table: KeyTable, *, now: datetime) -> str:
    """There are two at most: the new one takes the place of the one that ends first.

    The other's end is set beforehand, so that a run that breaks off is simply repeated and finds the same place.
    """
    keys = table.keys
    known = {slot: keys.get(slot) for slot in INTERNAL_SLOTS}
    place = min(INTERNAL_SLOTS, key=lambda slot: _end(known[slot]))
    for slot, other in known.items():
        if slot != place and other is not None:
            keys.put(replace(other, expires_at=min(_end(other), now + KEPT_AFTER_ROTATION)))
    return _kept(table, place, INTERNAL, frozenset({INTERNAL}))


def _end(key: ApiKey | None) -> datetime:
    if key is None:
        return datetime.min.replace(tzinfo=UTC)
    return key.expires_at or datetime.max.replace(tzinfo=UTC)


def _kept(
    table: KeyTable,
    id: str,
    tenant: str | None,
    scopes: frozenset[str],
    accounts: frozenset[str] | None = None,
) -> str:
    secret = new_secret(id)
    table.keys.put(
        ApiKey(
            id=id,
            secret_sha256=table.hashes.of(secret),
            tenant=tenant,
            scopes=scopes,
            accounts=accounts,
            name="made by the command line",
            created_at=SystemClock().now(),
        )
    )
    return bearer_text(id, secret)


def _signing_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
