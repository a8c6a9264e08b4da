"""Callers change the plan of a task while its runs last: between a pause and a resumption, at the very instant of a
run, while runs wait for one another, and after so many runs by hand that the newest rows tell nothing of the plan."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import MINUTE
from tests.simulation.rows import number, recurs, text

if TYPE_CHECKING:
    from tests.simulation.clients import Clients

_TASKS: Final = "/api/v1/tasks"
PAUSED: Final = "while a run is on"
AT_AN_INSTANT: Final = "at an instant"
QUEUED: Final = "while runs wait"
COUNTED: Final = "beside many runs by hand"
RECOUNTED: Final = "while runs wait, and again"
RESTED: Final = "while runs wait, by a pause"
WAYS: Final = (PAUSED, AT_AN_INSTANT, QUEUED, COUNTED, RESTED)
_BY_HAND: Final = 11
_LOOKS_MAX: Final = 200
# A waiting run is looked at every five seconds.
_POLLED: Final = (5, 8)
_LASTS: Final = 9 * MINUTE


@dataclass(kw_only=True, slots=True, eq=False)
class Replanning:
    """Each episode has a task of its own, of every minute."""

    clients: "Clients"

    def something(self, actor: Actor) -> None:
        draws = self.clients.hub.draws
        way = draws.choice(self.clients.mix().replanned)
        if id := self._planned(actor, way):
            self.clients.seen.reach[f"replanned {way}"] += 1
            self._episodes[way](actor, id)

    @property
    def _episodes(self) -> dict[str, Callable[[Actor, str], None]]:
        return {
            PAUSED: self._pause_while_a_run_is_on,
            AT_AN_INSTANT: self._change_at_an_instant,
            QUEUED: self._change_while_runs_wait,
            COUNTED: self._count_beside_many_by_hand,
            RECOUNTED: self._change_again_at_the_next_run,
            RESTED: self._pause_while_runs_wait,
        }

    def _planned(self, actor: Actor, way: str) -> str | None:
        clients, draws = self.clients, self.clients.hub.draws
        key = clients.key()
        form = clients.recurring.form(actor, key)
        for name in ("max_runs", "jitter_seconds", "expires_after_seconds"):
            form.pop(name, None)
        form |= {
            "cron": "* * * * *",
            "end_at": clients.recurring.end_in(_LASTS),
            "overlap": "queue" if way in (QUEUED, RECOUNTED, RESTED) else draws.choice(("skip", "queue")),
            "max_runs": {QUEUED: 6, RECOUNTED: 4, RESTED: 6}.get(way) or draws.choice((2, 3, 6)),
            "timeout_seconds": max(clients.mix().timeouts),
        }
        answer = clients.ask(actor, "POST", _TASKS, form, key=key)
        return str(answer.body["task_id"]) if answer.http == 201 else None

    def _pause_while_a_run_is_on(self, actor: Actor, id: str) -> None:
        self._wait(lambda: self._runs(id, "RUNNING"))
        self._rest(0, 20)
        self._ask(actor, f"{id}/pause", {"reason": "a rest"})
        self._rest(0, 20)
        self._ask(actor, f"{id}/resume")

    def _pause_while_runs_wait(self, actor: Actor, id: str) -> None:
        """The pause ends the waiting runs, which then must not count among those that began."""
        self._wait(lambda: self._runs(id, "RUNNING"))
        self._wait(lambda: self._runs(id, "PENDING", waits=True))
        self._ask(actor, f"{id}/pause")
        self._rest(0, 20)
        if self.clients.hub.draws.random() < 0.5:
            self._change(actor, id)
        self._ask(actor, f"{id}/resume")

    def _change_at_an_instant(self, actor: Actor, id: str) -> None:
        for _ in range(2):
            self._change_at_the_next(actor, id, earliest=-0.5)

    def _change_while_runs_wait(self, actor: Actor, id: str) -> None:
        """Changes the plan when the run before the waiting run has ended: the waiting run is about to begin."""
        self._wait_for_the_next_in_line(id)
        self._change(actor, id)

    def _change_again_at_the_next_run(self, actor: Actor, id: str) -> None:
        """Changes the plan twice. The first change is answered late, because the list of runs cannot be read."""
        self._wait_for_the_next_in_line(id)
        self.clients.beside(actor, "PATCH", f"{_TASKS}/{id}", self._changed())
        self._change_at_the_next(actor, id, earliest=0.2)

    def _wait_for_the_next_in_line(self, id: str) -> None:
        """Waits until the run before a waiting run has ended, and a worker has read the plan for the waiting run."""
        self._wait(lambda: self._runs(id, "RUNNING"))
        self._wait(lambda: self._runs(id, "PENDING", waits=True))
        self._wait(lambda: not self._runs(id, "RUNNING"))
        self._rest(*_POLLED)

    def _change_at_the_next(self, actor: Actor, id: str, *, earliest: float) -> None:
        """Changes the plan about the next full minute, at the earliest so many seconds after it."""
        hub = self.clients.hub
        moment = (hub.now // MINUTE + 1) * MINUTE + int(hub.draws.uniform(earliest, 3) * SECOND)
        hub.park(max(0, moment - hub.now))
        self._change(actor, id)

    def _count_beside_many_by_hand(self, actor: Actor, id: str) -> None:
        """Triggers runs after the instant of the next run: rows of later minutes come before it in the list."""
        self._wait(lambda: self._runs(id, "RUNNING"))
        self._ask(actor, f"{id}/pause", {"reason": "a rest"})
        self._rest(61, 70)
        for _ in range(_BY_HAND):
            self.clients.recurring.trigger(actor, id)
        if self.clients.hub.draws.random() < 0.5:
            self._change(actor, id)
        self._ask(actor, f"{id}/resume")

    def _change(self, actor: Actor, id: str) -> None:
        self.clients.ask(actor, "PATCH", f"{_TASKS}/{id}", self._changed())

    def _changed(self) -> dict[str, Any]:
        draws = self.clients.hub.draws
        form = draws.choice(({"payload": {"n": "z"}}, {"end_at": self.clients.recurring.end_in(_LASTS)}))
        # Other tags each time: a change to the values that the task has already does nothing.
        return {**form, "tags": [f"at {self.clients.hub.now}"]}

    def _ask(self, actor: Actor, path: str, form: dict[str, Any] | None = None) -> None:
        self.clients.ask(actor, "POST", f"{_TASKS}/{path}", form)

    def _rest(self, least: float, most: float) -> None:
        self.clients.hub.park(int(self.clients.hub.draws.uniform(least, most) * SECOND))

    def _wait(self, until: Callable[[], bool]) -> None:
        """Looks each second, and not for ever: what is waited for may not happen."""
        for _ in range(_LOOKS_MAX):
            if until():
                return
            self.clients.hub.park(SECOND)

    def _runs(self, id: str, status: str, *, waits: bool = False) -> bool:
        """True if a run in turn of the task has this status; with `waits`, one whose instant has passed."""
        now = self.clients.hub.now // 1000
        of_it = (
            row
            for row in self.clients.seen.items()
            if text(row, "status") == status
            and (run := recurs(row))
            and run.definition == id
            and run.number > 0
        )
        return any(not waits or (number(row, "planned") or number(row, "due")) < now for row in of_it)
