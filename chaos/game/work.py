"""Tasks, payments and accounts of the game's tenant."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cli.client import Client

TASKS: Final = "/api/v1/tasks"
PAYMENTS: Final = "/api/v1/payments"
_BATCH: Final = 100


def tasks(client: Client, url: str, count: int, *, tag: str = "game", **fields: Any) -> list[str]:
    """Registers as many tasks to one address, and returns their ids."""
    form = {"delay_seconds": 0, "target": {"type": "webhook", "url": url}, "tags": [tag], **fields}
    ids: list[str] = []
    while len(ids) < count:
        some = [form] * min(_BATCH, count - len(ids))
        results = client.post(f"{TASKS}/batch", {"tasks": some}).expect(200)["results"]
        ids += [result["task"]["task_id"] for result in results]
    return ids


def states(client: Client, ids: Iterable[str]) -> set[str]:
    """The states that these tasks have."""
    return {client.get(f"{TASKS}/{id}").expect(200)["status"] for id in ids}


def all_are(client: Client, ids: Iterable[str], state: str) -> bool:
    """True if each task has this state; the first one that has not ends the look."""
    return all(client.get(f"{TASKS}/{id}").expect(200)["status"] == state for id in ids)


def accounts(client: Client, payer: str, payee: str, amount: int) -> None:
    """Opens two accounts, and gives one of them money."""
    for name in (payer, payee):
        client.post("/api/v1/accounts", {"account_id": name}).expect(201)
    path = f"/api/v1/accounts/{payer}/deposits"
    client.post(path, {"amount": amount}, idempotency_key=f"{payer}-{amount}").expect(201)


def payments(client: Client, payer: str, payee: str, dues: list[datetime]) -> list[str]:
    """Registers a payment of 1 for each instant."""
    forms = [
        {
            "from_account_id": payer,
            "to_account_id": payee,
            "amount": 1,
            "scheduled_time": due.isoformat(),
            "idempotency_key": f"{payer}-{number}-{due.isoformat()}",
        }
        for number, due in enumerate(dues)
    ]
    ids: list[str] = []
    for first in range(0, len(forms), _BATCH):
        answer = client.post(f"{PAYMENTS}/schedule/batch", {"payments": forms[first : first + _BATCH]})
        ids += [result["payment"]["payment_id"] for result in answer.expect(200)["results"]]
    return ids


def paid(client: Client, account: str) -> list[dict[str, Any]]:
    """All payments of an account, the earliest first."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        asked = f"{PAYMENTS}?account_id={account}&order=asc&limit=100{cursor}"
        page = client.get(asked).expect(200)
        found += page["payments"]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def later(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def sleep_until(at: datetime) -> None:
    time.sleep(max(0.0, (at - datetime.now(UTC)).total_seconds()))
