"""Invariants of a tenant's money after any sequence of actions."""

from typing import Any

from functions.api.wiring import wired
from postdate.use_cases.auditing import Auditor
from tests.integration.world import Client, Record, World


def assert_sound(client: Client) -> None:
    found = Auditor(ledger=wired().tables.ledger, clock=wired().clock).audit(client.tenant)
    assert [check for check in found.checks if not check.ok] == []
    assert found.moving == []


def balances(client: Client, *accounts: str) -> list[tuple[int, int]]:
    found = [client.get(f"/api/v1/accounts/{id}").body for id in accounts]
    return [(each["available"], each["reserved"]) for each in found]


def payments(client: Client, account: str = "alice") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/v1/payments", f"account_id={account}").body["payments"]
    return found


def calls(world: World, client: Client) -> list[Record]:
    return world.received(world.queues["payments"], tenant=client.tenant)
