"""The runner over stores in memory, with a target that answers by a script."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from functions.run_tasks.backfill import BackfillTarget
from functions.run_tasks.batch import Worker
from functions.run_tasks.chain import RunChain
from functions.run_tasks.circuits import Circuits
from functions.run_tasks.flow_keys import FlowKeys
from functions.run_tasks.gate.admit import Gate
from functions.run_tasks.in_flight import InFlight
from functions.run_tasks.intake import Intake
from functions.run_tasks.own_payloads import OwnPayloads
from functions.run_tasks.replay import ReplayTarget
from functions.run_tasks.run import TaskRunner
from functions.run_tasks.sending import Sender
from functions.run_tasks.stops import Stops
from functions.run_tasks.subscribed import Subscribed
from functions.run_tasks.tally import TaskTally
from postdate.domain.due import Due, Via
from postdate.domain.recurrence import Runs
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Task
from postdate.runtime.outbox import Outbox
from postdate.runtime.queue import Received
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.flow import Flow
from postdate.stores.flow_memory import MemoryFlow
from postdate.stores.objects import Found, MemoryObjects
from postdate.stores.payloads import MemoryPayloads
from postdate.stores.subscriptions import MemorySubscriptions
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches_memory import MemorySwitches
from postdate.stores.tasks import Written
from postdate.stores.tenants_memory import MemoryTenants
from postdate.stores.vault import Vault
from postdate.use_cases.notifying import Notifier
from tests.unit.doubles import (
    LEASE,
    MINUTE,
    PLAN,
    SECOND,
    START,
    ManualClock,
    ScriptedDefinitions,
    ScriptedFurther,
    ScriptedQueue,
    ScriptedTarget,
    ScriptedTasks,
    message,
)

HORIZON = Horizon(lead=120 * SECOND, margin=60 * SECOND)


WORKERS = 16


class OnTheSpot(Executor):
    """Does what it is given where it is given it; while it `holds`, it waits until it is let go."""

    def __init__(self) -> None:
        self.holds = False
        self.jobs = 0
        self._held: list[Callable[[], object]] = []

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        self.jobs += 1
        self._held.append(partial(work, *given, **named))
        if not self.holds:
            self.let_go()
        return Future()

    def let_go(self) -> None:
        while self._held:
            self._held.pop(0)()


class ScriptedObjects(MemoryObjects):
    """Our own code has a mistake when this name is read."""

    breaks_at = ""

    def read(self, tenant: str, name: str) -> Found:
        if name == self.breaks_at:
            raise ZeroDivisionError
        return super().read(tenant, name)


class Running:
    def __init__(self, *, flow: Flow | None = None) -> None:
        self.clock = ManualClock()
        self.tasks = ScriptedTasks()
        self.definitions = ScriptedDefinitions(tasks=self.tasks)
        self.flow = flow or MemoryFlow()
        self.circuits = Circuits(flow=self.flow, clock=self.clock)
        self.switches = MemorySwitches()
        self.flow_keys = FlowKeys(flow=self.flow, clock=self.clock)
        self.vault = Vault(data_keys=MemoryDataKeys(), clock=self.clock)
        self.payloads = MemoryPayloads()
        self.events = MemoryEvents()
        self.subscriptions = MemorySubscriptions()
        self.objects = ScriptedObjects()
        self.readers = OnTheSpot()
        self.tenants = MemoryTenants()
        self.queue = ScriptedQueue(self.clock)
        self.dead_letters = ScriptedQueue(self.clock)
        self.slow = ScriptedQueue(self.clock)
        self.moves_slow = True
        self.target = ScriptedTarget(self.clock)
        self.queue_target = ScriptedTarget(self.clock)
        self.backfilling = OnTheSpot()
        self.backfills = BackfillTarget(
            definitions=self.definitions,
            tasks=self.tasks,
            runs=Runs(shards=PLAN),
            queue=self.queue,
            clock=self.clock,
            made_for=timedelta(days=35),
            pool=self.backfilling,
        )
        self.replays = ReplayTarget(
            events=self.events,
            subscriptions=self.subscriptions,
            notifier=Notifier(
                events=self.events,
                subscriptions=self.subscriptions,
                tasks=self.tasks,
                queue=self.queue,
                shards=PLAN,
                clock=self.clock,
            ),
            clock=self.clock,
            pool=OnTheSpot(),
        )
        self.further = ScriptedFurther(self.clock)
        self.backed_off: list[str] = []
        self.extended: list[tuple[list[str], timedelta]] = []
        self.on_extend: list[Callable[[], object]] = []
        self.dies_at = START + 15 * MINUTE

    def stores(self, *tasks: Task) -> None:
        assert set(self.tasks.add(tasks)) == {Written.DONE}

    def stored(self, task: Task) -> Task:
        found = self.tasks.get(task.id)
        assert found is not None
        return found

    def run(self, *messages: Received, holder: str = "worker-1") -> TaskTally:
        return self.runner(*messages, holder=holder).run(messages)

    def runner(self, *messages: Received, holder: str = "worker-1") -> TaskRunner:
        worker = Worker(
            clock=self.clock,
            holder=holder,
            lease=LEASE,
            horizon=HORIZON,
            seconds_left=self._seconds_left,
            draw=lambda: 0.5,
        )
        subscribed = Subscribed(
            events=self.events, subscriptions=self.subscriptions, tasks=self.tasks, clock=self.clock
        )
        sender = Sender(
            worker,
            targets={
                "webhook": self.target,
                "sqs": self.queue_target,
                "backfill": self.backfills,
                "replay": self.replays,
            },
            payloads=self.payloads,
            own=OwnPayloads(bucket="objects", objects=self.objects, readers=self.readers),
            tenants=self.tenants.get_many,
            vault=self.vault,
            response_seconds_max=60,
            subscribed=subscribed,
        )
        in_flight = InFlight(lambda tenant: sender.share_of(tenant, WORKERS))
        return TaskRunner(
            worker,
            tasks=self.tasks,
            chain=RunChain(
                definitions=self.definitions,
                tasks=self.tasks,
                queue=self.queue,
                runs=Runs(shards=PLAN),
                horizon=HORIZON,
                vault=self.vault,
                clock=self.clock,
                subscribed=subscribed,
            ),
            gate=Gate(
                flow=self.flow,
                circuits=self.circuits,
                flow_keys=self.flow_keys,
                stops=Stops(Switchboard(switches=self.switches, clock=self.clock), self.clock),
                clock=self.clock,
                lease=LEASE,
                moves_slow=self.moves_slow,
            ),
            sender=sender,
            outbox=Outbox(queue=self.queue, dead_letters=self.dead_letters, slow=self.slow),
            intake=Intake(
                worker,
                event=messages,
                further=self.further,
                extend=self._extend,
                back_off=lambda failed: self.backed_off.extend(each.message_id for each in failed),
                in_flight=in_flight,
            ),
            in_flight=in_flight,
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
        """The steps in `on_extend` happen at each extension, one each time."""
        self.extended.append(([each.message_id for each in messages], visible_after))
        if self.on_extend:
            self.on_extend.pop(0)()


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.target.close()
