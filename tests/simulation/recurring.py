"""Calls of clients about recurring tasks: plan them, pause and resume, change, trigger, backfill and cancel them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from postdate.domain import instants
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import MINUTE
from tests.simulation.replanning import Replanning
from tests.simulation.seen import Backfilled
from tests.simulation.zoned import ZONE

if TYPE_CHECKING:
    from tests.simulation.clients import Clients

_TASKS: Final = "/api/v1/tasks"


@dataclass(kw_only=True, slots=True, eq=False)
class Recurring:
    """Every plan ends some minutes after it was made, so that a run of the simulation ends as well."""

    clients: "Clients"
    known: dict[str, list[str]] = field(default_factory=dict)

    def something(self, actor: Actor) -> None:
        draws = self.clients.hub.draws
        if self.clients.mix().replanned:
            Replanning(clients=self.clients).something(actor)
            return
        own = self.known.get(str(actor.tenant), [])
        if not own or draws.random() < 0.3:
            self._plan(actor)
            return
        id = draws.choice(own)
        if draws.random() < 0.3:
            self._wait_for_a_minute()
        acts = (self._pause, self._resume, self._change, self.trigger)
        act = draws.choice((*acts, *acts, self._look, self._backfill, self._cancel))
        act(actor, id)

    def form(self, actor: Actor, name: str) -> dict[str, Any]:
        """A task of every minute or every other."""
        draws = self.clients.hub.draws
        mix = self.clients.mix()
        form = self.clients.task(actor, name)
        return {
            **{name: value for name, value in form.items() if name not in ("run_at", "delay_seconds")},
            **self._cron(),
            "timezone": draws.choice(("UTC", ZONE)),
            "end_at": self._end(),
            "overlap": draws.choice(mix.overlaps),
            "catch_up": draws.choice(("latest", "all", "none")),
            "catch_up_window_seconds": draws.choice((60, 150, 86_400)),
            **({"max_runs": draws.choice((1, 2, 3))} if draws.random() < 0.3 else {}),
            **({"jitter_seconds": 20} if draws.random() < 0.2 else {}),
            **({"expires_after_seconds": draws.choice((1, 20, 60))} if draws.random() < 0.15 else {}),
            **({"timeout_seconds": max(mix.timeouts)} if draws.random() < 0.5 else {}),
        }

    def _plan(self, actor: Actor) -> None:
        key = self.clients.key()
        self.clients.ask(actor, "POST", _TASKS, self.form(actor, key), key=key)

    def _pause(self, actor: Actor, id: str) -> None:
        hub = self.clients.hub
        self.clients.ask(actor, "POST", f"{_TASKS}/{id}/pause", {"reason": "a rest"})
        then = hub.draws.random()
        if then < 0.5:
            hub.park(int(hub.draws.uniform(0, 2.5) * MINUTE))
            self._resume(actor, id)
        elif then < 0.6:
            self._cancel(actor, id)

    def _resume(self, actor: Actor, id: str) -> None:
        self.clients.ask(actor, "POST", f"{_TASKS}/{id}/resume")

    def _change(self, actor: Actor, id: str) -> None:
        """Each time with other tags: a change to the values that the task has already does nothing."""
        draws = self.clients.hub.draws
        form: dict[str, Any] = draws.choice(
            (
                {**self._cron(), "end_at": self._end()},
                {"overlap": draws.choice(self.clients.mix().overlaps)},
                {"max_runs": draws.choice((2, 4))},
                {"payload": {"n": "z" * 900}},
            )
        )
        self.clients.ask(actor, "PATCH", f"{_TASKS}/{id}", form | {"tags": [f"at {self.clients.hub.now}"]})

    def trigger(self, actor: Actor, id: str) -> None:
        self.clients.seen.triggers[id] += 1
        self.clients.ask(actor, "POST", f"{_TASKS}/{id}/trigger", key=self.clients.key())

    def _backfill(self, actor: Actor, id: str) -> None:
        clients = self.clients
        now = clients.hub.now // 1000
        first = now - clients.hub.draws.choice((60_000, 200_000))
        form = {"from": _text(first), "to": _text(now - 2_000)}
        answer = clients.ask(actor, "POST", f"{_TASKS}/{id}/backfill", form)
        if answer.http == 202:
            runs = answer.body["eligible"]["count"]
            clients.seen.reach["runs backfilled"] += runs
            clients.seen.backfilled.append(
                Backfilled(
                    definition=id,
                    operation=answer.body["operation_id"],
                    first=first,
                    last=now - 2_000,
                    runs=runs,
                )
            )

    def _cancel(self, actor: Actor, id: str) -> None:
        if self.clients.hub.draws.random() < 0.5:
            self.clients.ask(actor, "DELETE", f"{_TASKS}/{id}")

    def _look(self, actor: Actor, id: str) -> None:
        draws = self.clients.hub.draws
        self.clients.ask(actor, "GET", f"{_TASKS}/{id}{draws.choice(('', '/runs'))}")

    def _cron(self) -> Mapping[str, str]:
        return {"cron": self.clients.hub.draws.choice(("* * * * *", "* * * * *", "*/2 * * * *"))}

    def _end(self) -> str:
        return self.end_in(int(self.clients.hub.draws.uniform(2 * MINUTE, self.clients.mix().planned_for)))

    def end_in(self, microseconds: int) -> str:
        return _text((self.clients.hub.now + microseconds) // 1000)

    def _wait_for_a_minute(self) -> None:
        """To be there when a run begins."""
        hub = self.clients.hub
        moment = (hub.now // MINUTE + 1) * MINUTE + int(hub.draws.uniform(-1, 0.3) * SECOND)
        if moment > hub.now:
            self.clients.seen.reach["raced for a run"] += 1
            hub.park(moment - hub.now)


def _text(milliseconds: int) -> str:
    return instants.from_milliseconds(milliseconds).isoformat(timespec="milliseconds")
