"""The running local stack: its addresses and keys, as `make up` wrote them."""

import json
import os
from pathlib import Path
from typing import Any

from postdate_client import Client


def stack() -> dict[str, Any]:
    """The stack of POSTDATE_LOCAL_DIR, or of PORT. Raises SystemExit if it does not run."""
    port = os.environ.get("PORT", "4566")
    usual = ".local" if port == "4566" else f".local/{port}"
    file = Path(os.environ.get("POSTDATE_LOCAL_DIR", usual)) / "stack.json"
    if not file.exists():
        raise SystemExit("Start the local stack with `make up`.")
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


def client(key: str = "api_key") -> Client:
    """A client with one of the keys of the demo tenant."""
    local = stack()
    return Client(local["api_url"], local[key])


def open_account(admin: Client, account_id: str, money: int = 0) -> None:
    """Opens an account and brings money in, once however often it is called."""
    admin.open_account(account_id=account_id)
    if money:
        admin.deposit(account_id, amount=money, idempotency_key=f"{account_id}-first")


def expect(found: object, wanted: object) -> None:
    """Raises SystemExit if an example did not do what it promises."""
    if found != wanted:
        raise SystemExit(f"{found} instead of {wanted}")
