"""The API's use cases over stores in memory."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from threading import Lock
from typing import Any

import pytest

from functions.api.tasks.change import Changer
from functions.api.tasks.register import Order, Registered, Registrar
from postdate.domain.errors import PostdateError
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Task
from postdate.stores.idempotency import MemoryReservations, Reservation
from postdate.stores.payloads import MemoryPayloads
from tests.unit.doubles import (
    HOOK,
    MINUTE,
    PLAN,
    SECOND,
    START,
    STEADY,
    ManualClock,
    ScriptedQueue,
    ScriptedTasks,
    unique,
)

FAR = START + 60 * MINUTE
KEPT = timedelta(days=60)


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
        self.registrar = Registrar(reservations=self.reservations, plan=PLAN, **shared)
        self.changer = Changer(**shared)

    def register(self, **fields: Any) -> Registered:
        """One order of the tenant `demo`; raises what is answered instead."""
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


def order(**fields: Any) -> Order:
    usual = Order(
        due_at=FAR,
        destination=HOOK,
        payload="{}",
        retry=STEADY,
        timeout_seconds=30,
        name=None,
        tags=(),
        idempotency_key=None,
        fingerprint="asked",
    )
    return replace(usual, **fields)


@pytest.fixture
def service() -> Service:
    return Service()
