"""Receivers that register what is called next: a line of deliveries, each of which made the one after it. The run
counts each line by itself, whatever depth the product tells."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from postdate.targets.base import Delivery
from tests.simulation.hub import SECOND, Actor
from tests.simulation.seen import Broken

if TYPE_CHECKING:
    from tests.simulation.clients import Clients

_TASKS: Final = "/api/v1/tasks"
_DEPTH_MAX: Final = 5


@dataclass(kw_only=True, slots=True, eq=False)
class Loops:
    clients: "Clients"
    count: int = 0

    def take(self, delivery: Delivery) -> None:
        """Registers a task, or triggers a recurring task, for some deliveries, with the depth that each carries."""
        hub, mix = self.clients.hub, self.clients.mix()
        if not mix.loops or hub.draws.random() >= mix.loops:
            return
        self.count += 1
        actor = Actor(name=f"loop-{self.count}", hub=hub, tenant=delivery.tenant)
        self.clients.busy += 1

        def work() -> None:
            try:
                self._follow(actor, delivery)
            finally:
                self.clients.busy -= 1

        hub.spawn(actor, work, delay=int(hub.draws.uniform(0, 2) * SECOND))

    def _follow(self, actor: Actor, delivery: Delivery) -> None:
        clients, seen = self.clients, self.clients.seen
        key, headers = clients.key(), {"postdate-depth": str(delivery.depth_told)}
        recurring = clients.recurring.known.get(delivery.tenant, [])
        form: dict[str, Any] | None = None
        if recurring and clients.hub.draws.random() < 0.5:
            id = clients.hub.draws.choice(recurring)
            seen.triggers[id] += 1
            path = f"{_TASKS}/{id}/trigger"
        else:
            form = {**clients.task(actor, key), "delay_seconds": 1}
            form.pop("run_at", None)
            path = _TASKS
        answer = clients.ask(actor, "POST", path, form, key=key, headers=headers)
        if answer.http not in (201, 202):
            return
        made = str(answer.body.get("run_id") or answer.body["task_id"])
        place = seen.generations.get(delivery.run_id, 0) + 1
        seen.generations[made] = max(seen.generations.get(made, 0), place)
        seen.reach[f"delivery registers, place {place} of its line"] += 1
        if place > _DEPTH_MAX:
            raise Broken(f"I17: {made} is at place {place} of a line of deliveries that register each other")
