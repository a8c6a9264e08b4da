"""The API's use cases over stores in memory."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from threading import Lock
from typing import Any

import pytest

from functions.api.operations.backfill import Backfills
from functions.api.runs.acknowledge import Acknowledger
from functions.api.runs.rooms import Rooms
from functions.api.tasks.checks.places import PlaceCheck
from functions.api.tasks.one_time.change import TaskChanger
from functions.api.tasks.one_time.order import RegisteredTask, TaskOrder
from functions.api.tasks.one_time.register import TaskRegistrar
from functions.api.tasks.recurring.by_hand import ByHand
from functions.api.tasks.recurring.forms import schedule
from functions.api.tasks.recurring.order import RecurringOrder, RegisteredDefinition
from functions.api.tasks.recurring.register import DefinitionRegistrar
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Definition, Overlap
from postdate.domain.errors import PostdateError, Unavailable
from postdate.domain.flow import Room
from postdate.domain.recurrence import Runs
from postdate.domain.schedule import Schedule
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Payload, State, Task, Template
from postdate.stores.flow import Timeline
from postdate.stores.flow_memory import MemoryFlow
from postdate.stores.idempotency import Reservation
from postdate.stores.idempotency_memory import MemoryReservations
from postdate.stores.payloads import MemoryPayloads
from postdate.use_cases.plan_changes import DefinitionChanger
from postdate.use_cases.plan_templates import Templates
from postdate.use_cases.planned_chain import PlannedChain
from tests.unit.doubles import (
    HOOK,
    MINUTE,
    PLAN,
    SECOND,
    START,
    STEADY,
    ManualClock,
    ScriptedDefinitions,
    ScriptedQueue,
    ScriptedTasks,
    unique,
)

FAR = START + 60 * MINUTE
KEPT = timedelta(days=60)
RETENTION = timedelta(days=35)


class LockedReservations(MemoryReservations):
    """A batch reserves its keys side by side; a table does that one after the other for one key."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()

    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        with self._lock:
            return super().reserve(wanted, now=now)


class ScriptedPayloads(MemoryPayloads):
    """Notes how long each is kept; what stands in `before_put` happens before one is written, one thing each time."""

    def __init__(self) -> None:
        super().__init__()
        self.before_put: list[Callable[[], object]] = []
        self.kept_until: dict[str, datetime] = {}

    def put(self, key: str, text: str, *, keep_until: datetime) -> None:
        if self.before_put:
            self.before_put.pop(0)()
        super().put(key, text, keep_until=keep_until)
        self.kept_until[key] = keep_until


class ScriptedFlow(MemoryFlow):
    """The next `unavailable` calls about rooms get no answer."""

    def __init__(self) -> None:
        super().__init__()
        self.unavailable = 0

    def room(self, tenant: str, key: str) -> Room:
        self._answers()
        return super().room(tenant, key)

    def stay(self, tenant: str, key: str, runs: Iterable[str], until: datetime) -> None:
        self._answers()
        super().stay(tenant, key, runs, until)

    def ends(
        self, tenant: str, keys: Iterable[str], *, of: Timeline = Timeline.RATE
    ) -> Mapping[str, datetime]:
        self._answers()
        return super().ends(tenant, keys, of=of)

    def leave(self, tenant: str, key: str, runs: Iterable[str], *, stay: timedelta | None) -> None:
        self._answers()
        super().leave(tenant, key, runs, stay=stay)

    def _answers(self) -> None:
        if self.unavailable:
            self.unavailable -= 1
            raise Unavailable


class Service:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.tasks = ScriptedTasks()
        self.payloads = ScriptedPayloads()
        self.reservations = LockedReservations()
        self.queue = ScriptedQueue(self.clock)
        self.horizon = Horizon(lead=120 * SECOND, margin=60 * SECOND)
        numbers = count(1)
        shared: dict[str, Any] = {
            "tasks": self.tasks,
            "payloads": self.payloads,
            "queue": self.queue,
            "horizon": self.horizon,
            "payload_kept": KEPT,
            "clock": self.clock,
            "unique": lambda: unique(next(numbers)),
        }
        self.registrar = TaskRegistrar(reservations=self.reservations, shards=PLAN, **shared)
        self.flow = ScriptedFlow()
        self.places = PlaceCheck(flow=self.flow, clock=self.clock)
        self.changer = TaskChanger(places=self.places, **shared)
        self.definitions = ScriptedDefinitions(tasks=self.tasks)
        self.runs = Runs(shards=PLAN)
        self.chain = PlannedChain(tasks=self.tasks, runs=self.runs)
        self.templates = Templates(
            tasks=self.tasks,
            payloads=self.payloads,
            runs=self.runs,
            payload_kept=KEPT,
            unique=shared["unique"],
        )
        rest = {name: shared[name] for name in ("queue", "horizon", "clock", "unique")}
        plans = {"definitions": self.definitions, "chain": self.chain, "templates": self.templates, **rest}
        self.planner = DefinitionRegistrar(reservations=self.reservations, shards=PLAN, **plans)
        self.definition_changer = DefinitionChanger(**plans)
        self.by_hand = ByHand(
            definitions=self.definitions,
            tasks=self.tasks,
            runs=self.runs,
            reservations=self.reservations,
            triggered_for=RETENTION,
            **rest,
        )
        self.backfills = Backfills(
            tasks=self.tasks, shards=PLAN, reservations=self.reservations, made_for=RETENTION, **rest
        )
        self.acknowledger = Acknowledger(
            tasks=self.tasks,
            rooms=Rooms(flow=self.flow),
            queue=self.queue,
            clock=self.clock,
            draw=lambda: 0.5,
        )

    def plan(self, *cron: str, **fields: Any) -> RegisteredDefinition:
        """Plans a recurring task of the tenant `demo`. Raises the error that is answered instead."""
        (answer,) = self.planner.register("demo", [recurring_order(*cron, **fields)])
        if isinstance(answer, PostdateError):
            raise answer
        return answer

    def planned(self, *cron: str, **fields: Any) -> Definition:
        return self.plan(*cron, **fields).definition

    def runs_of(self, definition: Definition, *, state: State | None = None) -> list[Task]:
        """In the order of their minutes."""
        ids = self.tasks.runs_listed(definition.tenant, definition.id, after="", limit=10_000)
        found = self.tasks.get_many(ids)
        return [found[id] for id in ids if state in (None, found[id].state)]

    def register(self, **fields: Any) -> RegisteredTask:
        """Registers an order of the tenant `demo`. Raises the error that is answered instead."""
        (answer,) = self.registrar.register("demo", [order(**fields)])
        if isinstance(answer, PostdateError):
            raise answer
        return answer

    def registered(self, **fields: Any) -> Task:
        return self.register(**fields).task

    def payload_of(self, task: Task) -> str | None:
        stored = self.tasks.get(task.id)
        assert stored is not None
        key = stored.payload.key
        return stored.payload.text if key is None else self.payloads.get(key)


def order(**fields: Any) -> TaskOrder:
    """Far away, unless said otherwise; fields of its template among the others."""
    if isinstance(fields.get("payload"), str):
        fields["payload"] = Payload(text=fields["payload"])
    template = {"destination": HOOK, "payload": Payload(text="{}"), "retry": STEADY} | {
        name: fields.pop(name) for name in list(fields) if name in Template.__dataclass_fields__
    }
    usual = TaskOrder(
        due_at=FAR,
        template=Template(**template),
        name=None,
        tags=(),
        idempotency_key=None,
        fingerprint="asked",
    )
    return replace(usual, **fields)


def recurring_order(cron: str = "0 * * * *", timezone: str = "UTC", **fields: Any) -> RecurringOrder:
    """Each hour, unless said otherwise; fields of its schedule and its template among the others."""

    def among(kind: Any) -> dict[str, Any]:
        return {name: fields.pop(name) for name in list(fields) if name in kind.__dataclass_fields__}

    named = {each: fields.pop(each) for each in ("name", "tags") if each in fields}
    plan = schedule(cron, timezone, **among(Schedule))
    template = {"destination": HOOK, "payload": Payload(text="{}"), "retry": STEADY} | among(Template)
    usual = RecurringOrder(
        schedule=plan,
        template=Template(**template),
        overlap=Overlap.SKIP,
        catch_up=CatchUp.LATEST,
        catch_up_window=timedelta(days=1),
        name=None,
        tags=(),
        idempotency_key=None,
        fingerprint="asked",
    )
    return replace(usual, **fields, **named)


@pytest.fixture
def service() -> Service:
    return Service()
