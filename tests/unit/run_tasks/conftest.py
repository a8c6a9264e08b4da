"""The runner over stores in memory, with a target that answers by a script."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

import pytest

from functions.run_tasks.deliveries import Deliveries
from functions.run_tasks.run import Runner, Tally
from postdate.domain.due import Due, Via
from postdate.domain.task import Task
from postdate.runtime.outbox import Outbox
from postdate.runtime.queue import Received
from postdate.stores.payloads import MemoryPayloads
from postdate.stores.tasks import Written
from postdate.stores.tenants import MemoryTenants
from tests.unit.doubles import (
    LEASE,
    MINUTE,
    START,
    ManualClock,
    ScriptedQueue,
    ScriptedTarget,
    ScriptedTasks,
    message,
)


class Running:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.tasks = ScriptedTasks()
        self.payloads = MemoryPayloads()
        self.tenants = MemoryTenants()
        self.queue = ScriptedQueue(self.clock)
        self.dead_letters = ScriptedQueue(self.clock)
        self.target = ScriptedTarget(self.clock)
        self.queue_target = ScriptedTarget(self.clock)
        self.extended: list[tuple[list[str], timedelta]] = []
        self.on_extend: list[Callable[[], object]] = []
        self.dies_at = START + 15 * MINUTE

    def stores(self, *tasks: Task) -> None:
        assert set(self.tasks.add(tasks)) == {Written.DONE}

    def stored(self, task: Task) -> Task:
        found = self.tasks.get(task.id)
        assert found is not None
        return found

    def run(self, *messages: Received, holder: str = "worker-1") -> Tally:
        return self.runner(holder).run(messages)

    def runner(self, holder: str = "worker-1") -> Runner:
        return Runner(
            tasks=self.tasks,
            deliveries=Deliveries(
                targets={"webhook": self.target, "sqs": self.queue_target},
                payloads=self.payloads,
                tenant=self.tenants.get,
                seconds_left=self._seconds_left,
            ),
            outbox=Outbox(queue=self.queue, dead_letters=self.dead_letters),
            extend_messages=self._extend,
            clock=self.clock,
            lease=LEASE,
            holder=holder,
            seconds_left=self._seconds_left,
            draw=lambda: 0.5,
        )

    def arrival(self, *, number: int = 9, receives: int = 1) -> Received:
        """The only packet that was sent on, as it arrives: the clock has moved to that instant."""
        ((packet, delay),) = self.queue.take()
        self.clock.move(delay)
        return message(
            *packet.dues,
            number=number,
            receives=receives,
            via=packet.via,
            tenant=packet.tenant,
            seen=packet.seen,
        )

    @property
    def letters(self) -> list[Due]:
        return [due for packet in self.dead_letters.packets for due in packet.dues]

    @property
    def sent(self) -> list[tuple[Via, Due, timedelta]]:
        return [(packet.via, due, delay) for packet, delay in self.queue.sent for due in packet.dues]

    def _seconds_left(self) -> float:
        return (self.dies_at - self.clock.now()).total_seconds()

    def _extend(self, messages: Iterable[Received], visible_after: timedelta) -> None:
        """What stands in `on_extend` happens then, one thing each time."""
        self.extended.append(([each.message_id for each in messages], visible_after))
        if self.on_extend:
            self.on_extend.pop(0)()


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.target.close()
