"""Registers recurring tasks.

The key's row comes first, then a large payload's, then the first run's, then the definition's, then the call of the run
if its slot may be open already. A crash after any of them is repaired by the caller's own retry, which finds the id in
the key's row; without a key nothing was promised, and what was written is void (see `PlannedChain.begin`). After the
definition's row the closing pass makes up for the call.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from functions.api import idempotency
from functions.api.tasks.recurring.order import (
    RecurringOrder,
    RegisteredDefinition,
    definition_of,
    first_answer,
)
from postdate.domain import definition as definitions
from postdate.domain import instants
from postdate.domain.definition import Definition, nothing_left
from postdate.domain.errors import PostdateError, Unavailable
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Horizon
from postdate.domain.task import KIND
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.tasks import Written
from postdate.use_cases import calls
from postdate.use_cases.plan_templates import Templates
from postdate.use_cases.planned_chain import PlannedChain

_AT_ONCE: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class DefinitionRegistrar:
    definitions: Definitions
    chain: PlannedChain
    templates: Templates
    reservations: Reservations
    queue: Queue
    shards: ShardPlan
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]

    def register(
        self, tenant: str, orders: Sequence[RecurringOrder]
    ) -> list[RegisteredDefinition | PostdateError]:
        """Returns an answer for each order, in their order. An error in one affects no other."""

        def planned(order: RecurringOrder) -> RegisteredDefinition | PostdateError:
            try:
                return self._planned(tenant, order)
            except PostdateError as error:
                return error

        with ThreadPoolExecutor(min(_AT_ONCE, len(orders))) as pool:
            return list(pool.map(planned, orders))

    def _planned(self, tenant: str, order: RecurringOrder) -> RegisteredDefinition:
        now = self.clock.now()
        reservation, planned = self._reserve(tenant, order, now)
        if planned.replayed and (known := self.definitions.get(planned.definition.id)):
            return self._first(tenant, order, reservation, planned, known)
        # Runs that an earlier try with this key left behind belong to another plan than this one's.
        definition = replace(planned.definition, plan=instants.milliseconds(now))
        stored = self.templates.stored(definition, now=now)
        first = self.chain.begin(stored, now=now)
        if first is None:
            raise nothing_left(stored)
        written = self.definitions.add(stored)
        if written not in (Written.DONE, Written.CONFLICT):
            raise Unavailable
        known = self.definitions.get(stored.id) if written is Written.CONFLICT else None
        if known is None:
            calls.send([first], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        else:
            self.chain.drop(first, now=self.clock.now())
        return self._first(tenant, order, reservation, planned, known)

    def _reserve(
        self, tenant: str, order: RecurringOrder, now: datetime
    ) -> tuple[Reservation | None, RegisteredDefinition]:
        """The definition that this order stands for, and the row of its key, if it has a key. No sweep visits the slot
        of a definition, so a new instant for its key only delays the first run."""
        unique = self.unique()
        id = self.shards.item_id(KIND, instants.start_of(definitions.HOME_MINUTE), unique)
        new = definition_of(tenant, order, id=id, now=now)
        refusal = order.refusal
        if refusal is None and self.chain.first(new, now=now) is None:
            refusal = nothing_left(new)
        wanted = None
        if order.idempotency_key is not None:
            wanted = Reservation(
                tenant=tenant,
                key=order.idempotency_key,
                fingerprint=order.fingerprint,
                item_id=id,
                due_at=now,
                created_at=now,
                keep_until=now + idempotency.KEY_KEPT,
            )
        reservation = idempotency.reserved(
            self.reservations, wanted, refusal=refusal, now=now, written=self._is_written
        )
        if reservation is None or reservation is wanted:
            return reservation, RegisteredDefinition(definition=new)
        return reservation, first_answer(tenant, order, reservation)

    def _first(
        self,
        tenant: str,
        order: RecurringOrder,
        reservation: Reservation | None,
        planned: RegisteredDefinition,
        known: Definition | None,
    ) -> RegisteredDefinition:
        """The definition at its registration, by any request with this key. `known` is the stored definition."""
        if known is None or reservation is None or known.created_at == planned.definition.created_at:
            return planned
        return first_answer(
            tenant, order, idempotency.as_written(self.reservations, reservation, known.created_at)
        )

    def _is_written(self, id: str) -> bool:
        return self.definitions.get(id) is not None
