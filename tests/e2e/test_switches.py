"""Switches on the deployed stack: the time until money stands still, and what happens afterwards."""

import json
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from cli.client import Client
from cli.commands import switches
from tests.e2e.conftest import RunningStack

PATH = switches.PATH
EVERY = timedelta(milliseconds=100)
STOPS_AFTER_SECONDS = 2.0
PAYMENTS = 80


def test_settlement_stops_within_two_seconds_and_goes_on_in_order(stack: RunningStack) -> None:
    admin, client, operator = stack.client(stack.admin_key), stack.client(), stack.client(stack.operator_key)
    for account in ("switch-payer", "switch-payee"):
        admin.post("/api/v1/accounts", {"account_id": account}).expect(201)
    key = {"Idempotency-Key": "switch-first"}
    admin.post("/api/v1/accounts/switch-payer/deposits", {"amount": PAYMENTS}, **key).expect(201)
    first = datetime.now(UTC) + timedelta(seconds=5)
    orders = [
        {
            "from_account_id": "switch-payer",
            "to_account_id": "switch-payee",
            "amount": 1,
            "scheduled_time": (first + place * EVERY).isoformat(),
            "idempotency_key": f"switch-{place}",
        }
        for place in range(PAYMENTS)
    ]
    results = client.post("/api/v1/payments/schedule/batch", {"payments": orders}).expect(200)["results"]
    ids = [result["payment"]["payment_id"] for result in results]
    try:
        time.sleep(max(0.0, (first + 2 * timedelta(seconds=1) - datetime.now(UTC)).total_seconds()))
        off = _turned(operator, on=False)
        off_at = datetime.fromisoformat(off["off_at"])
        time.sleep(8)
        on = _turned(operator, on=True)
        time.sleep(
            max(0.0, (datetime.fromisoformat(on["caught_up_at"]) - datetime.now(UTC)).total_seconds() + 3)
        )
    finally:
        _turned(operator, on=True)
    found = [client.get(f"/api/v1/payments/{id}").expect(200) for id in ids]
    assert {(each["status"], each["attempts"]) for each in found} == {("COMPLETED", 1)}
    executed = [datetime.fromisoformat(each["executed_at"]) for each in found]
    assert all(at >= first + place * EVERY for place, at in enumerate(executed))
    before = [at for at in executed if at < datetime.fromisoformat(on["on_at"])]
    assert 10 < len(before) < 50
    effect = max((max(before) - off_at).total_seconds(), 0.0)
    assert effect < STOPS_AFTER_SECONDS, f"money still moved {effect} s after the switch"
    late = executed[len(before) :]
    assert executed[: len(before)] == sorted(before)
    assert _ordered(late) > 0.97
    letters = operator.get("/api/v1/ops/dlq/payments", postdate_tenant="demo").expect(200)
    assert not set(ids) & {item["id"] for letter in letters["letters"] for item in letter.get("items", ())}
    print(
        f"stopped after {effect:.3f} s; {len(late)} waited, the last made {_after(on, late):.3f} s after `on`"
    )


def _ordered(instants: list[datetime]) -> float:
    """Share of neighbours in order."""
    pairs = list(pairwise(instants))
    return sum(first <= second for first, second in pairs) / len(pairs)


def _after(on: dict[str, Any], instants: list[datetime]) -> float:
    return (max(instants) - datetime.fromisoformat(on["on_at"])).total_seconds()


def _turned(operator: Client, *, on: bool) -> dict[str, Any]:
    body = json.dumps({"on": on, "reason": "test"}).encode()
    switch: dict[str, Any] = operator.send("PUT", f"{PATH}/settlement", body).expect(200)
    return switch
