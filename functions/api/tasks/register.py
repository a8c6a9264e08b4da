"""Registers tasks that run once: one, or a hundred at once.

The key's row comes first, then a large payload's, then the task, then the call if its slot may be open already. A
crash after the first is repaired by the caller's own retry, after the second by expiry, after the third by the
closing pass over the task's slot.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from functions.api import calls, idempotency
from postdate.domain import transitions
from postdate.domain.errors import PostdateError, Unavailable
from postdate.domain.flow import FlowControl
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import ShardPlan, item_id
from postdate.domain.sweeping import Horizon
from postdate.domain.task import KIND, Ack, Destination, Payload, Task
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.payloads import Payloads
from postdate.stores.tasks import Tasks, Written

KEY_KEPT = timedelta(days=30)
_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A request that was understood. What speaks against it now counts only if its key is new: an answer that was
    given once is given again, whatever has happened to the instant or the destination since."""

    due_at: datetime
    destination: Destination
    payload: str
    retry: RetryPolicy
    timeout_seconds: int
    name: str | None
    tags: tuple[str, ...]
    idempotency_key: str | None
    fingerprint: str
    ack: Ack = Ack.RESPONSE
    expires_after: timedelta | None = None
    flow: FlowControl | None = None
    refusal: PostdateError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """The task as it was when it was registered; `replayed` when that was an earlier request with the same key."""

    task: Task
    replayed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Registrar:
    tasks: Tasks
    payloads: Payloads
    reservations: Reservations
    queue: Queue
    plan: ShardPlan
    horizon: Horizon
    payload_kept: timedelta
    clock: Clock
    unique: Callable[[], bytes]

    def register(self, tenant: str, orders: Sequence[Order]) -> list[Registered | PostdateError]:
        """One answer an order, in their order; what is wrong with one touches no other."""
        now = self.clock.now()

        def prepared(order: Order) -> tuple[Registered, Task] | PostdateError:
            try:
                registered = self._reserved(tenant, order, now)
                return registered, self._stored_form(registered.task)
            except PostdateError as error:
                return error

        with ThreadPoolExecutor(min(_AT_ONCE, len(orders))) as pool:
            drafts = list(pool.map(prepared, orders))
        stored = list({draft[1].id: draft[1] for draft in drafts if isinstance(draft, tuple)}.values())
        written = dict(zip([task.id for task in stored], self.tasks.add(stored), strict=True))
        lost = {id for id, done in written.items() if done not in (Written.DONE, Written.CONFLICT)}
        called = (task for task in stored if task.id not in lost)
        calls.send(called, queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return [
            draft if isinstance(draft, PostdateError) else Unavailable() if draft[1].id in lost else draft[0]
            for draft in drafts
        ]

    def _reserved(self, tenant: str, order: Order, now: datetime) -> Registered:
        """The task that this order stands for: a new one, or the one its key stood for before."""
        if order.refusal is not None:
            return self._replayed(tenant, order, order.refusal, now)
        unique = self.unique()
        id = item_id(KIND, self.plan.slot(order.due_at, unique), unique)
        new = Registered(task=_task(tenant, order, id=id, due_at=order.due_at, now=now))
        if order.idempotency_key is None:
            return new
        wanted = Reservation(
            tenant=tenant,
            key=order.idempotency_key,
            fingerprint=order.fingerprint,
            item_id=id,
            due_at=order.due_at,
            created_at=now,
            keep_until=now + KEY_KEPT,
        )
        held = idempotency.stands_for(self.reservations, wanted, now=now, written=self._is_written)
        return new if held is wanted else _first_answer(tenant, order, held, now)

    def _replayed(self, tenant: str, order: Order, refusal: PostdateError, now: datetime) -> Registered:
        found = idempotency.answered_before(
            self.reservations,
            tenant,
            order.idempotency_key,
            fingerprint=order.fingerprint,
            refusal=refusal,
            written=self._is_written,
        )
        return _first_answer(tenant, order, found, now)

    def _is_written(self, id: str) -> bool:
        return self.tasks.get(id) is not None

    def _stored_form(self, task: Task) -> Task:
        if task.payload.text is None or self.tasks.fits(task):
            return task
        key = f"{task.id}#{task.version}"
        self.payloads.put(key, task.payload.text, keep_until=task.due_at + self.payload_kept)
        return replace(task, payload=Payload(key=key))


def _first_answer(tenant: str, order: Order, found: Reservation, now: datetime) -> Registered:
    """What was answered the first time follows from the request, which is the same, and from what its key kept."""
    first = _task(tenant, order, id=found.item_id, due_at=found.due_at, now=found.created_at)
    return Registered(task=replace(first, moved_at=now), replayed=True)


def _task(tenant: str, order: Order, *, id: str, due_at: datetime, now: datetime) -> Task:
    return transitions.register(
        id=id,
        tenant=tenant,
        due_at=due_at,
        now=now,
        destination=order.destination,
        payload=Payload(text=order.payload),
        retry=order.retry,
        timeout_seconds=order.timeout_seconds,
        name=order.name,
        tags=order.tags,
        ack=order.ack,
        expires_at=None if order.expires_after is None else due_at + order.expires_after,
        flow=order.flow,
    )
