"""Clients that plan, start, stop and resume operations."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import Mix

if TYPE_CHECKING:
    from tests.simulation.clients import Clients

_PATH = "/api/v1/operations"
_ITEMS = 6


class NoneStalled:
    """In runs without operations the sweep asks for none."""

    def look(self) -> list[str]:
        return []


def arrange(wired: Any, mix: Mix) -> None:
    stalled = getattr(wired, "stalled", None)
    if stalled is not None:
        wired.stalled = stalled if mix.operations else NoneStalled()


@dataclass(kw_only=True, slots=True, eq=False)
class Operating:
    """`known` are the operations of each tenant."""

    clients: "Clients"
    known: dict[str, list[str]] = field(default_factory=dict)

    def something(self, actor: Actor) -> None:
        known, draws = self.known.setdefault(str(actor.tenant), []), self.clients.hub.draws
        if not known or draws.random() < 0.7:
            self._plan(actor, known)
            return
        id = draws.choice(known)
        match draws.randrange(4):
            case 0:
                self.clients.ask(actor, "POST", f"{_PATH}/{id}/stop")
            case 1 | 2:
                self.clients.ask(actor, "POST", f"{_PATH}/{id}/resume")
            case _:
                self.clients.ask(actor, "GET", f"{_PATH}/{id}")

    def _plan(self, actor: Actor, known: list[str]) -> None:
        clients, draws = self.clients, self.clients.hub.draws
        form = self._form(str(actor.tenant))
        answer = clients.ask(actor, "POST", _PATH, form)
        if answer.http != 202:
            return
        id = answer.body["operation_id"]
        known.append(id)
        clients.seen.reach["operation planned"] += 1
        clients.seen.reach["operation has items"] += answer.body["eligible"]["count"] > 0
        if not form["dry_run"]:
            return
        clients.hub.park(int(draws.choice((0, 0, 1, 10)) * SECOND))
        clients.ask(actor, "POST", f"{_PATH}/{id}/start")

    def _form(self, tenant: str) -> dict[str, Any]:
        draws = self.clients.hub.draws
        items = self.clients.items.get(tenant, [])
        payments = draws.random() < 0.25
        action = "cancel" if payments else draws.choice(("redrive", "redrive", "retry", "retry", "cancel"))
        own = [id for id in items if id.startswith("pay_") is payments]
        return {
            "action": action,
            "kind": "payments" if payments else "tasks",
            "reason": "it is back",
            "dry_run": draws.random() < 0.5,
            "max_per_second": draws.choice((1, 2, 50)),
            "canary": draws.choice((None, None, None, 1, 2)),
            **self._named(own, action),
        }

    def _named(self, own: list[str], action: str) -> dict[str, Any]:
        """The newest of the items by their ids, or all of a state."""
        draws = self.clients.hub.draws
        if own and (action == "cancel" or draws.random() < 0.5):
            return {"ids": draws.sample(own, min(len(own), draws.randrange(1, _ITEMS)))}
        return {"filter": {"status": "PENDING" if action == "cancel" else "DEAD"}}
