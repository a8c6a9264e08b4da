"""An id tells the kind of its item, and with it where the API and the console have the item."""

from typing import Final
from urllib.parse import quote

_PLACES: Final = {
    "pay": "payments",
    "task": "tasks",
    "run": "runs",
    "dlv": "runs",
    "op": "operations",
    "evt": "events",
    "sub": "subscriptions",
}


def things(id: str) -> str:
    """The name of the list that has the item: an id of no other kind is an account's."""
    return _PLACES.get(id.partition("_")[0], "accounts")


def path(id: str) -> str:
    return f"/api/v1/{things(id)}/{quote(id, safe='')}"
