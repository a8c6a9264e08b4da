"""Registers tasks that run once: one, or a hundred at once.

The key's row comes first, then a large payload's, then the task, then the call if its slot may be open already. A crash
after the first is repaired by the caller's own retry, after the second by expiry, after the third by the closing pass
over the slot the task is due in. If two requests with one key are under way at once, only one of them writes the task's
row, and both are answered with that task.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from functions.api import idempotency
from functions.api.tasks.one_time.order import RegisteredTask, TaskOrder, first_answer, task_of
from functions.api.tasks.one_time.registered import note
from postdate.domain.errors import PostdateError, Unavailable
from postdate.domain.slots import ShardPlan
from postdate.domain.spread import spread
from postdate.domain.sweeping import Horizon
from postdate.domain.task import KIND, State, Task
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.payloads import Payloads
from postdate.stores.tasks import Tasks, Written
from postdate.use_cases import calls

_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """The task of an order, not yet known to be written."""

    # The order.
    order: TaskOrder
    # None without a key: then nothing is promised before the task is written.
    reservation: Reservation | None
    # The answer: the task as the first request with its key registered it.
    registered: RegisteredTask
    # The same task as it is written: a large payload is in a row of its own.
    stored: Task


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRegistrar:
    tasks: Tasks
    payloads: Payloads
    reservations: Reservations
    queue: Queue
    shards: ShardPlan
    horizon: Horizon
    # The time after the instant of a task for which its payload stays.
    payload_kept: timedelta
    clock: Clock
    unique: Callable[[], bytes]

    def register(self, tenant: str, orders: Sequence[TaskOrder]) -> list[RegisteredTask | PostdateError]:
        """Returns an answer for each order, in their order. An error in one affects no other."""
        now = self.clock.now()

        def prepared(order: TaskOrder) -> _Draft | PostdateError:
            try:
                reservation, registered = self._reserve(tenant, order, now)
                stored = self._store_payload(registered.task)
            except PostdateError as error:
                return error
            return _Draft(order=order, reservation=reservation, registered=registered, stored=stored)

        # Each order may write a reservation and a payload, so they are prepared side by side.
        with ThreadPoolExecutor(min(_AT_ONCE, len(orders))) as pool:
            drafts = list(pool.map(prepared, orders))
        stored = {draft.stored.id: draft.stored for draft in drafts if isinstance(draft, _Draft)}
        written = dict(zip(stored, self.tasks.add(list(stored.values())), strict=True))
        there = {id for id, done in written.items() if done is Written.DONE}
        before = [id for id, done in written.items() if done is Written.CONFLICT]
        # A task that is stored already is another answer to the same request. Its row decides about the call.
        known = self._known(before)
        if known is not None:
            there |= set(before)
        known = known or {}
        # The calls follow the rows: a crash in between leaves tasks that the closing pass of the sweep finds.
        called = [known.get(id, task) for id, task in stored.items() if id in there]
        called = [task for task in called if task.state is State.PENDING]
        note([stored[id] for id, done in written.items() if done is Written.DONE])
        calls.send(called, queue=self.queue, horizon=self.horizon, now=self.clock.now())

        def answer(draft: _Draft | PostdateError) -> RegisteredTask | PostdateError:
            if isinstance(draft, PostdateError):
                return draft
            if draft.stored.id not in there:
                return Unavailable()
            try:
                return self._first(tenant, draft, known.get(draft.stored.id), now)
            except PostdateError as error:
                return error

        return [answer(draft) for draft in drafts]

    def _reserve(
        self, tenant: str, order: TaskOrder, now: datetime
    ) -> tuple[Reservation | None, RegisteredTask]:
        """Reserves the key of the order, if it has one, and returns the task that it stands for: a new one, or an
        earlier one."""
        unique = self.unique()
        name = f"{tenant} {order.idempotency_key or unique.hex()}"
        due_at = spread(order.due_at, seconds=order.spread_seconds, name=name)
        id = self.shards.item_id(KIND, due_at, unique)
        wanted = None
        if order.idempotency_key is not None:
            wanted = Reservation(
                tenant=tenant,
                key=order.idempotency_key,
                fingerprint=order.fingerprint,
                item_id=id,
                due_at=due_at,
                created_at=now,
                keep_until=now + idempotency.KEY_KEPT,
            )
        reservation = idempotency.reserved(
            self.reservations, wanted, refusal=order.refusal, now=now, written=self._is_written
        )
        if reservation is None or reservation is wanted:
            return reservation, RegisteredTask(task=task_of(tenant, order, id=id, due_at=due_at, now=now))
        return reservation, first_answer(tenant, order, reservation, now)

    def _known(self, ids: Sequence[str]) -> Mapping[str, Task] | None:
        """Returns tasks that earlier requests wrote, as they are now; None if they cannot be read, which affects no
        new task."""
        try:
            return self.tasks.get_many(ids) if ids else {}
        except Unavailable:
            return None

    def _first(self, tenant: str, draft: _Draft, known: Task | None, now: datetime) -> RegisteredTask:
        """The task at its registration, by this request or another one with this key."""
        task = draft.registered.task
        if known is None or draft.reservation is None or known.created_at == task.created_at:
            return draft.registered
        reservation = idempotency.as_written(self.reservations, draft.reservation, known.created_at)
        return first_answer(tenant, draft.order, reservation, now)

    def _is_written(self, id: str) -> bool:
        return self.tasks.get(id) is not None

    def _store_payload(self, task: Task) -> Task:
        if task.payload.text is None or self.tasks.fits(task):
            return task
        key = f"{task.id}#{task.version}"
        self.payloads.put(key, task.payload.text, keep_until=task.due_at + self.payload_kept)
        return replace(task, payload=task.payload.moved_to(key))
