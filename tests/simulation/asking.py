"""The threads of a worker that take part in a run: one asks a queue for more, others deliver beside each other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from postdate.runtime.further import Took
from postdate.runtime.queue import Received
from postdate.targets.base import Delivery, Receipt, Report
from tests.simulation.hub import SECOND, Actor, Crash

if TYPE_CHECKING:
    from tests.simulation.workers import Functions

SECONDS: Final = {
    "api": 29,
    "archive": 300,
    "erase": 300,
    "operate": 60,
    "record": 60,
    "run_tasks": 900,
    "settle": 60,
    "sweep": 300,
}


@dataclass(kw_only=True, slots=True)
class Asking:
    """Takes messages for a worker in a thread of its own. Worker and thread die together."""

    functions: "Functions"
    worker: Actor
    further: Any

    def ask(self, took: Took, visible_after: timedelta) -> None:
        functions, worker = self.functions, self.worker
        lives = functions._living(worker)
        asking = Actor(
            name=f"{worker.name}, asking",
            hub=functions.hub,
            skew=worker.skew,
            skew_max=worker.skew_max,
            is_newer=worker.is_newer,
            request=worker.request,
            wired=worker.wired,
            invoked_at=functions.hub.now,
        )

        def body() -> None:
            try:
                messages = self._received(visible_after)
            except Crash:
                if lives():
                    functions.hub.kill(worker)
                raise
            if lives():
                functions.given(worker, messages)
                took(messages)

        functions.hub.spawn(asking, body)

    def delete(self, messages: Iterable[Received]) -> None:
        kept, deletes_lost = [], self.functions.mix().deletes_lost
        for message in messages:
            if self.functions.hub.draws.random() < deletes_lost:
                self.functions.seen.reach["delete lost"] += 1
            else:
                kept.append(message)
        self.further.delete(kept)

    def _received(self, visible_after: timedelta) -> list[Received]:
        found: list[Received] = self.further._received(visible_after)
        return found


@dataclass(kw_only=True, slots=True)
class Beside:
    """Threads of a worker, for steps of backfills: the worker dies with each of them. What one has to report to a
    worker that is no more is not heard."""

    functions: "Functions"
    worker: Actor

    def submit(self, work: Callable[..., None], delivery: Delivery, report: Report) -> None:
        functions, worker = self.functions, self.worker
        lives = functions._living(worker)
        beside = Actor(
            name=f"{worker.name}, beside",
            hub=functions.hub,
            skew=worker.skew,
            skew_max=worker.skew_max,
            is_newer=worker.is_newer,
            request=worker.request,
            wired=worker.wired,
            calls_given=worker.calls_given,
            invoked_at=functions.hub.now,
        )

        waits = functions.seen.waits[delivery.tenant, delivery.destination.address]
        place, began = len(waits), functions.hub.now
        waits.append((began, began + SECONDS["run_tasks"] * SECOND))

        def heard(delivery: Delivery, receipt: Receipt) -> None:
            waits[place] = began, functions.hub.now
            if lives():
                report(delivery, receipt)

        def body() -> None:
            try:
                work(delivery, heard)
            except Crash:
                if lives():
                    functions.hub.kill(worker)
                raise

        functions.hub.spawn(beside, body)
