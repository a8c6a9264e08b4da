"""Plans operations, and starts and stops what was planned.

A plan writes the items before the operation, so an operation that can be read has all of them. A start begins the
execution before it says RUNNING: if the API dies in between, the execution says so itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from functions.api.caller import Caller
from functions.api.operations.find import Finder, ItemFilter
from postdate.domain import (
    operation_counts,
    operation_items,
    operation_pages,
    operation_seats,
)
from postdate.domain import operation_moves as moves
from postdate.domain.definition import Definition, is_definition
from postdate.domain.definition import State as DefinitionState
from postdate.domain.errors import Conflict, Forbidden, InvalidState, NotFound
from postdate.domain.item import kind_of
from postdate.domain.operation import Action, Kind, Operation, OperationRequest, State
from postdate.domain.operation_items import Item
from postdate.domain.operation_moves import ACTIVE
from postdate.domain.operation_pages import Entry, Outcome
from postdate.domain.operation_seats import RUNNING_MAX
from postdate.domain.payment import KIND as PAYMENT_KIND
from postdate.domain.payment import Payment
from postdate.domain.scopes import OPS
from postdate.domain.slots import ShardPlan, is_id
from postdate.domain.subscription import State as SubscriptionState
from postdate.domain.task import DELIVERY_KIND, KIND, OPERATION_KIND, RUN_KIND, Task
from postdate.runtime import machine as machines
from postdate.runtime.clock import Clock
from postdate.runtime.machine import Machine
from postdate.stores.definitions import Definitions
from postdate.stores.ledger import Ledger
from postdate.stores.operations import Operations
from postdate.stores.subscriptions import Subscriptions
from postdate.stores.tasks import Tasks

_TRIES = 3
_TASK_KINDS: Final = frozenset({KIND, RUN_KIND, DELIVERY_KIND})
_NEEDS: Final = {Kind.TASKS: "tasks:write", Kind.PAYMENTS: "payments:write", Kind.PLANS: "tasks:write"}
# The scope of the request is `tasks:read` already.
_SHOWN: Final = {Kind.TASKS: "tasks:read", Kind.PAYMENTS: "payments:read", Kind.PLANS: "tasks:read"}
# Characters of an address in the report.
_ADDRESS_MAX: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Planner:
    operations: Operations
    tasks: Tasks
    ledger: Ledger
    finder: Finder
    definitions: Definitions
    subscriptions: Subscriptions
    shards: ShardPlan
    machine: Machine
    clock: Clock
    unique: Callable[[], bytes]

    def plan(self, caller: Caller, request: OperationRequest, named: Sequence[str] | ItemFilter) -> Operation:
        """Raises Forbidden for a kind of items that the key has no right to change."""
        caller.needs(_NEEDS[request.kind])
        return self._planned(caller, request, named)

    def redrive(
        self, caller: Caller, request: OperationRequest, named: Sequence[str] | ItemFilter
    ) -> Operation:
        """Plans a redrive of dead letters, and begins it. The scope of operators suffices for items of each kind.
        Raises Forbidden for any other caller."""
        caller.needs(OPS)
        return self._begun(self._planned(caller, request, named))

    def _planned(
        self, caller: Caller, request: OperationRequest, named: Sequence[str] | ItemFilter
    ) -> Operation:
        now, unique = self.clock.now(), self.unique()
        if isinstance(named, ItemFilter):
            looked = self.finder.find(caller.tenant, request.action, request.kind, named)
            known: Mapping[str, Item] = {item.id: item for item in looked.items}
            ids, evaluated = list(known), looked.evaluated
        else:
            # Texts that are no ids are not read. They count as not eligible, like unknown ids.
            known, ids = self._known(request.kind, [id for id in named if is_id(id)]), list(named)
            evaluated = len(known)
        found, against = self._sorted_out(caller, request, ids, known, now)
        # An item that has another version when its turn comes is left alone.
        entries = [Entry(id=item.id, version=item.version) for item in found]
        operation = Operation(
            id=self.shards.item_id(OPERATION_KIND, now, unique),
            tenant=caller.tenant,
            request=request,
            state=State.PLANNED,
            version=1,
            created_at=now,
            changed_at=now,
            eligible=len(entries),
            amount=sum(item.amount for item in found if isinstance(item, Payment))
            if request.kind is Kind.PAYMENTS
            else None,
            evaluated=evaluated,
            not_eligible=against,
            by_failure=operation_counts.most_common(
                operation_counts.fingerprint(item.error) for item in found if not isinstance(item, Definition)
            ),
            by_destination=operation_counts.most_common(map(_destination, found)),
            counts={Outcome.WAITING: len(entries)} if entries else {},
        )
        self.operations.add(operation, operation_pages.pages_of(operation.id, entries))
        return operation

    def load(self, tenant: str, id: str) -> Operation:
        operation = self.operations.get(id) if is_id(id) and kind_of(id) == OPERATION_KIND else None
        if operation is None or operation.tenant != tenant:
            raise NotFound(f"there is no operation {id}")
        return operation

    def shown(self, caller: Caller, id: str) -> Operation:
        """Raises Forbidden for a kind of items that the key has no right to read."""
        operation = self.load(caller.tenant, id)
        caller.needs(_SHOWN[operation.request.kind])
        return operation

    def shows(self, caller: Caller, operation: Operation) -> bool:
        return _SHOWN[operation.request.kind] in caller.scopes

    def start(self, caller: Caller, id: str) -> Operation:
        """Begins a planned operation. Starting it again while it runs is no error. Raises Forbidden as `plan` does, for
        an operator's operation to every other key, and for another key's to a key that is bound to accounts."""
        operation = self._begins(caller, id)
        if operation.state in ACTIVE:
            return operation
        if operation.state is not State.PLANNED:
            raise InvalidState(operation.state, f"an operation that is {operation.state} cannot be started")
        return self._begun(operation)

    def resume(self, caller: Caller, id: str) -> Operation:
        """Resumes a stopped operation, or replaces an execution that was killed. If that execution still lives, it ends
        when it finds itself overtaken. Raises Forbidden as `start` does."""
        operation = self._begins(caller, id)
        if operation.state not in (State.STOPPED, *ACTIVE):
            raise InvalidState(operation.state, f"an operation that is {operation.state} cannot be resumed")
        return self._begun(operation)

    def stop(self, caller: Caller, id: str) -> Operation:
        """Stops before the next slice, and stops an execution that was begun and has not said so yet. Stopping an
        operation again is no error."""
        for _ in range(_TRIES):
            operation = self._changed_by(caller, id)
            why = f"stopped by the key {caller.key_id}"
            after = moves.stopped_by_hand(operation, now=self.clock.now(), why=why)
            if self.operations.change(after):
                return after
        raise Conflict

    def _changed_by(self, caller: Caller, id: str) -> Operation:
        operation = self.load(caller.tenant, id)
        caller.needs(_NEEDS[operation.request.kind])
        if operation.request.operates:
            caller.needs(OPS)
        return operation

    def _begins(self, caller: Caller, id: str) -> Operation:
        operation = self._changed_by(caller, id)
        if caller.accounts is not None and operation.request.actor != caller.key_id:
            raise Forbidden("a key that is bound to accounts starts only operations that it planned")
        return operation

    def _seat(self, operation: Operation) -> None:
        """Takes one of the tenant's seats for an operation that starts. Raises InvalidState if all seats are taken."""
        for _ in range(_TRIES):
            now, seats = self.clock.now(), self.operations.seats(operation.tenant)
            taken = [
                seat
                for seat in seats.taken
                if seat.operation != operation.id
                and operation_seats.sits(seat, self.operations.get(seat.operation), now)
            ]
            if len(taken) >= RUNNING_MAX:
                raise InvalidState(
                    operation.state,
                    f"{RUNNING_MAX} operations of the tenant run, and no more may: {operation.id} stays "
                    f"{operation.state}. Start or resume it when one of them has ended",
                )
            if self.operations.change_seats(seats.changed(taken, operation, now)):
                return
        raise Conflict

    def _begun(self, operation: Operation) -> Operation:
        self._seat(operation)
        run = operation.run + 1
        machines.begin(self.machine, operation.id, run)
        after = moves.started(operation, run=run, now=self.clock.now())
        # The execution may have said so before, and be further by now.
        return after if self.operations.change(after) else self.operations.get(operation.id) or after

    def _sorted_out(
        self,
        caller: Caller,
        request: OperationRequest,
        ids: Sequence[str],
        known: Mapping[str, Item],
        now: datetime,
    ) -> tuple[list[Item], dict[str, int]]:
        """The items that the action is for, in the order of their ids, and the others counted by reason."""
        wanted = sorted(dict.fromkeys(ids))
        found, against = list[Item](), Counter[str]()
        # No run begins under a task that has ended, and no delivery for a subscription that has ended. Their letters
        # can be discarded.
        belonging = [
            each
            for each in known.values()
            if isinstance(each, Task) and each.recurs is not None and request.action is not Action.DISCARD
        ]
        ended = self._ended({each.task_id for each in belonging if not each.is_delivery})
        ended_subscriptions = self._ended_subscriptions(
            caller.tenant, {each.task_id for each in belonging if each.is_delivery}
        )
        for id in wanted:
            item = known.get(id)
            if item is None or item.tenant != caller.tenant:
                against["does not exist"] += 1
            elif isinstance(item, Task) and item.task_id in ended:
                against["is a run of a task that is CANCELLED or deleted"] += 1
            elif isinstance(item, Task) and item.task_id in ended_subscriptions:
                against["is a delivery to a subscription that has ended"] += 1
            elif isinstance(item, Payment) and not caller.may_pay_from(item.payer):
                against["is paid from an account that this key is not bound to"] += 1
            elif why := operation_items.why_not(request, item, now):
                against[why] += 1
            else:
                found.append(item)
        return found, dict(against)

    def _known(self, kind: Kind, ids: Sequence[str]) -> Mapping[str, Item]:
        if kind is Kind.PAYMENTS:
            return dict(self.ledger.payments(id for id in ids if kind_of(id) == PAYMENT_KIND))
        if kind is Kind.PLANS:
            return self.definitions.get_many(id for id in ids if is_definition(id)).complete()
        return self.tasks.get_many(id for id in ids if kind_of(id) in _TASK_KINDS).complete()

    def _ended(self, definitions: set[str]) -> set[str]:
        """Returns the definitions that start no further run."""
        known = self.definitions.get_many(definitions) if definitions else {}
        return {
            id
            for id in definitions
            if (found := known.get(id)) is None or found.state is DefinitionState.CANCELLED
        }

    def _ended_subscriptions(self, tenant: str, subscriptions: set[str]) -> set[str]:
        """Returns the subscriptions that are sent no further delivery."""
        known = {id: self.subscriptions.get(tenant, id) for id in subscriptions}
        return {id for id, found in known.items() if found is None or found.state is SubscriptionState.ENDED}


def _destination(item: Item) -> str:
    """The destination of an item as reports group by it. The query of a URL is left out: it may hold secrets, and
    differs from one item to the next."""
    if isinstance(item, Payment):
        return f"account {item.payee}"
    call = item.template if isinstance(item, Definition) else item
    return call.destination.address.partition("?")[0][:_ADDRESS_MAX]
