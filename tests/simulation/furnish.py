"""Rows and keys that each run of the simulation begins with."""

import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.account import Account
from postdate.domain.movement import Movement, Type, movement_id, place_at
from postdate.stores import account_row, movement_row
from postdate.stores.data_keys import KEY_BYTES
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.key_hashes import OWNER, KeyHashes
from postdate.stores.vault import SIGNING, Vault
from tests.simulation.clients import SCOPES
from tests.simulation.destination import OTHER_QUEUE, QUEUE, SIGNING_SECRET
from tests.simulation.hub import SECOND
from tests.simulation.inside import INSIDE
from tests.simulation.mix import MINUTE
from tests.simulation.requests import INTERNAL, OPERATOR, SECRET

START: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
START_US: Final = round(START.timestamp()) * SECOND
TENANTS: Final = ("acme", "zeta")
ACCOUNTS: Final = ("alice", "bob", "carol", "dave")
BALANCE: Final = 1000


class _AtStart:
    def now(self) -> datetime:
        return START

    def sleep_until(self, instant: datetime) -> None:
        raise NotImplementedError


def furnish() -> None:
    """Makes the beginning of every run: tenants with their accounts and money, and a sweep that has come to this
    minute."""
    put = INSIDE.engine.put
    opened = START - timedelta(days=1)
    data_keys = _put_data_keys(OWNER, *TENANTS)
    vault, hashes = Vault(data_keys=data_keys, clock=_AtStart()), KeyHashes(data_keys)
    for tenant in TENANTS:
        allowed = [{"S": f"sqs {queue}"} for queue in (QUEUE, OTHER_QUEUE)]
        secret = vault.seal(tenant, SIGNING, SIGNING_SECRET)
        put(
            "tenants",
            {
                "tenant": {"S": tenant},
                "destinations": {"L": allowed},
                "signing_secrets": {"L": [{"S": secret}]},
            },
        )
        for place, name in enumerate(ACCOUNTS):
            account = Account(id=name, tenant=tenant, created_at=opened, updated_at=opened, available=BALANCE)
            put("accounts", account_row.attributes_of(account))
            movement = Movement(
                id=movement_id(opened, f"{place:020d}"),
                tenant=tenant,
                type=Type.DEPOSIT,
                payer=None,
                payee=name,
                amount=BALANCE,
                at=opened,
            )
            placed = replace(movement, place=place_at(instants.milliseconds(opened), movement.id))
            put("journal", movement_row.attributes_of(placed, listing_shards=2))
        _put_key(tenant, tenant, SCOPES, hashes)
    _put_key(OPERATOR, None, "admin keys:write ops payments:write", hashes)
    _put_key(INTERNAL.split("_")[1], "us", "internal", hashes)
    _swept_until(START_US // MINUTE - 2)


def _put_data_keys(*owners: str) -> MemoryDataKeys:
    """Wrapped by the key of the environment, and readable while the rows of a run are made."""
    readable = MemoryDataKeys()
    for owner in owners:
        asked = {"KeyId": INSIDE.engine.secrets_key, "NumberOfBytes": KEY_BYTES}
        _, made, _ = INSIDE.engine.answer(
            "kms", "GenerateDataKey", {**asked, "EncryptionContext": {"owner": owner}}
        )
        INSIDE.engine.put("data_keys", {"owner": {"S": owner}, "wrapped": {"S": made["CiphertextBlob"]}})
        readable.keys[owner] = base64.b64decode(made["Plaintext"])
    return readable


def _put_key(id: str, tenant: str | None, scopes: str, hashes: KeyHashes) -> None:
    owner: dict[str, Any] = {"operator": {"BOOL": True}} if tenant is None else {"tenant": {"S": tenant}}
    row = {
        "key_id": {"S": id},
        "secret_sha256": {"S": hashes.of(SECRET)},
        **owner,
        "scopes": {"L": [{"S": scope} for scope in scopes.split()]},
    }
    INSIDE.engine.put("keys", row)


def _swept_until(minute: int) -> None:
    INSIDE.engine.put("slots", clock_row(minute))


def clock_row(minute: int) -> dict[str, Any]:
    return {"scope": {"S": "clock"}, "name": {"S": "watermark"}, "number": {"N": str(minute)}}
