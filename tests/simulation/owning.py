"""Owners in a run: requests about tenants, keys and accounts, and how often each of these changed in ways that an event
tells, by the counts in the rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.hub import Actor
from tests.simulation.rows import number, text

if TYPE_CHECKING:
    from tests.simulation.clients import Clients
    from tests.simulation.engine import Row

SERVICE: Final = "@service"
# An operator asks for these, and names the tenant.
PATHS: Final = ("/api/v1/ops/", "/api/v1/keys", "/api/v1/signing-secrets/")
TABLES: Final = ("accounts", "keys", "tenants", "switches")
_ITEMS: Final = frozenset({"payment", "task", "run", "plan"})
_OF_TENANT: Final = "tenant:"


def name_of(kind: str, id: str) -> str:
    """An item's id names it. Others of different kinds may have the same id."""
    return id if kind in _ITEMS else f"{kind} {id}"


def changed_in(table: str, row: "Row") -> Iterator[tuple[str, str, int]]:
    """The owner and the name of each subject that the row tells of, and the number of its events."""
    match table:
        case "accounts":
            tenant, _, id = str(text(row, "account")).partition("#")
            yield tenant, f"account {id}", number(row, "events")
        case "keys":
            yield text(row, "tenant") or SERVICE, f"key {text(row, 'key_id')}", number(row, "events")
        case "tenants":
            tenant = str(text(row, "tenant"))
            yield tenant, f"tenant {tenant}", number(row, "events")
            yield tenant, "secret signing-secret", number(row, "rotations")
        case "switches":
            name = str(text(row, "name"))
            owner = name.removeprefix(_OF_TENANT) if name.startswith(_OF_TENANT) else SERVICE
            yield owner, f"switch {name}", number(row, "version")


def something(clients: "Clients", actor: Actor) -> None:
    draws = clients.hub.draws
    tenant = f"/api/v1/ops/tenants/{actor.tenant}"
    account = f"/api/v1/accounts/{draws.choice(clients.accounts[str(actor.tenant)])}"
    match draws.randrange(5):
        case 0:
            clients.ask(actor, "PATCH", tenant, {"tier": draws.choice(("standard", "gold"))})
        case 1:
            form = {"overlap_seconds": draws.choice((0, 60))}
            clients.ask(actor, "POST", "/api/v1/signing-secrets/rotate", form)
        case 2:
            _key(clients, actor)
        case 3:
            limits = {"amount_max": draws.choice((5_000, 50_000, 500_000))}
            clients.ask(actor, "PATCH", account, {"limits": limits})
        case _:
            clients.ask(actor, "POST", f"{account}/deposits", {"amount": 10}, key=clients.key())


def _key(clients: "Clients", actor: Actor) -> None:
    """Makes a key, and mostly rotates or revokes it."""
    form: dict[str, Any] = {"name": "test", "scopes": ["payments:write"]}
    answer = clients.ask(actor, "POST", "/api/v1/keys", form)
    if answer.http == 201:
        path = f"/api/v1/keys/{answer.body['key_id']}"
        for step in range(clients.hub.draws.randrange(3)):
            if step == 0:
                clients.ask(actor, "POST", f"{path}/rotate", {"overlap_seconds": 0})
            else:
                clients.ask(actor, "DELETE", path)
