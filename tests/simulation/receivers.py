"""Receivers that end their runs by a word of their own: soon or late, twice, wrongly, or not at all."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from postdate.targets.base import Delivery
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import MINUTE

if TYPE_CHECKING:
    from tests.simulation.clients import Clients
    from tests.simulation.requests import Answer

WAYS: Final = (
    "completes",
    "completes",
    "fails",
    "beats",
    "is late",
    "says it twice",
    "is silent",
    "changes its mind",
)


@dataclass(kw_only=True, slots=True, eq=False)
class Receivers:
    clients: "Clients"
    count: int = 0

    def take(self, delivery: Delivery) -> None:
        """Each delivery is somebody's, who knows its token and no newer one."""
        hub = self.clients.hub
        self.count += 1
        actor = Actor(name=f"receiver-{self.count}", hub=hub, tenant=delivery.tenant)
        actor.word = (delivery.run_id, delivery.token)
        way = "completes" if self.clients.is_calm else hub.draws.choice(WAYS)
        self.clients.seen.reach[f"receiver {way}"] += 1
        hub.spawn(actor, lambda: self._act(actor, delivery, way), delay=int(hub.draws.uniform(0, 3) * SECOND))

    def _act(self, actor: Actor, delivery: Delivery, way: str) -> None:
        hub, timeout = self.clients.hub, delivery.timeout_seconds
        match way:
            case "completes":
                self._say(actor, delivery, "complete")
            case "fails":
                self._fail(actor, delivery)
            case "beats":
                for _ in range(3):
                    hub.park(int(hub.draws.uniform(0.2, 0.9) * timeout * SECOND))
                    self._say(actor, delivery, "heartbeat")
                self._say(actor, delivery, "complete")
            case "is late":
                hub.park(int((timeout + hub.draws.uniform(-1, 60)) * SECOND))
                self._say(actor, delivery, hub.draws.choice(("complete", "heartbeat")))
                self._say(actor, delivery, "complete")
            case "says it twice":
                self._say(actor, delivery, "complete")
                hub.park(int(hub.draws.uniform(0, 2) * MINUTE))
                self._say(actor, delivery, "complete")
            case "changes its mind":
                self._fail(actor, delivery)
                hub.park(int(hub.draws.uniform(0, 2) * MINUTE))
                self._say(actor, delivery, "complete")

    def _fail(self, actor: Actor, delivery: Delivery) -> None:
        final = self.clients.hub.draws.random() < 0.3
        self._say(actor, delivery, "fail", error="it said so", final=final)

    def _say(self, actor: Actor, delivery: Delivery, word: str, **more: Any) -> "Answer":
        path = f"/api/v1/runs/{delivery.run_id}/{word}"
        answer = self.clients.ask(actor, "POST", path, {"token": delivery.token, **more})
        self.clients.seen.reach[f"{word} {answer.http}"] += 1
        return answer
