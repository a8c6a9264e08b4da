"""Items of an operation: the reason that excludes an item from a plan, and the outcome of an item that was acted on.

Items are read again after a crash, so an outcome follows from the item as it is and never from what a slice did."""

from datetime import datetime
from typing import Final, TypeAlias, assert_never

from postdate.domain import definition as plans
from postdate.domain import payment as payments
from postdate.domain import task as tasks
from postdate.domain.definition import Definition
from postdate.domain.item import Phase
from postdate.domain.operation import Action, Operation, OperationRequest
from postdate.domain.operation_pages import Entry, Outcome
from postdate.domain.payment import Payment
from postdate.domain.task import Task

Item: TypeAlias = Task | Payment | Definition
# The state of a plan that each action finds, and the state that it leaves behind.
_PLANS: Final[dict[Action, tuple[frozenset[plans.State], plans.State]]] = {
    Action.PAUSE: (frozenset({plans.State.ACTIVE}), plans.State.PAUSED),
    Action.RESUME: (frozenset({plans.State.PAUSED}), plans.State.ACTIVE),
    Action.CANCEL: (frozenset(plans.State) - {plans.State.CANCELLED}, plans.State.CANCELLED),
}


def why_not(request: OperationRequest, item: Item, now: datetime) -> str | None:
    """The reason that excludes the item from the requested action; None for an eligible item."""
    if isinstance(item, Payment):
        return _why_not_payment(request, item)
    if isinstance(item, Definition):
        found, _ = _PLANS[request.action]
        return None if item.state in found else f"is {item.state}, not {' or '.join(sorted(found))}"
    match request.action:
        case Action.REDRIVE | Action.DISCARD if item.state is not tasks.State.DEAD:
            return f"is {item.state}, not DEAD"
        case Action.RETRY if item.state is not tasks.State.DEAD and not item.state.waits:
            return f"is {item.state}, neither DEAD nor waiting"
        case Action.CANCEL if item.state is not tasks.State.PENDING:
            return f"is {item.state}, not PENDING"
        # Each run writes the next one at its call: without this run the chain would end.
        case Action.CANCEL if item.recurs is not None and item.recurs.number:
            return "is a run of a plan: cancel its task"
        # A run with another instant than the planned one counts as called, so it would write no next run either.
        case Action.RETRY if _is_to_come(item):
            return "is the run to come of a plan: trigger its task"
        case Action.REDRIVE | Action.RETRY:
            return item.too_late(now)
        case Action.CANCEL | Action.DISCARD:
            return None
        case Action.PAUSE | Action.RESUME:
            return "is not a recurring task"
        case _:
            assert_never(request.action)


def _is_to_come(task: Task) -> bool:
    """True for a run of a plan before its first call."""
    in_a_chain = task.recurs is not None and task.recurs.number > 0
    return in_a_chain and task.state is tasks.State.PENDING and task.due_at == task.planned_at


def _why_not_payment(request: OperationRequest, payment: Payment) -> str | None:
    parked = payment.state is payments.State.EXECUTING and payment.phase is Phase.RESTS
    match request.action:
        case Action.REDRIVE | Action.RETRY if not parked:
            return f"is {payment.state}, and not parked"
        case Action.CANCEL if payment.state is not payments.State.PENDING and not parked:
            return f"is {payment.state}, neither PENDING nor parked"
        case Action.CANCEL if parked and not request.operates:
            # The books contradict the payment: to return its hold is a decision about money. Another attempt is not,
            # because its transaction checks the books again.
            return "is parked: only an operator may cancel it"
        case _:
            return None


def was_acted_on(operation: Operation, entry: Entry, item: Item) -> bool:
    """True if this operation changed the item after it was selected. A slice may have acted and crashed before its
    record. For a task or a payment, the operation signed the version after `entry.version`. A definition has no
    history: its next version counts if it is in the state that the action leaves behind."""
    if isinstance(item, Definition):
        _, left = _PLANS[operation.request.action]
        return item.version == entry.version + 1 and item.state is left
    return any(line.version == entry.version + 1 and line.by == operation.author for line in item.history)


def outcome_of(operation: Operation, entry: Entry, item: Item | None) -> Outcome:
    """The outcome of an entry that was SENT, from its item as it is now. SENT again while the end of the attempt is not
    known. CHANGED if another author changed the item before the operation acted, or if it is gone."""
    match item:
        case None:
            return Outcome.CHANGED
        case _ if item.version != entry.version and not was_acted_on(operation, entry, item):
            return Outcome.CHANGED
        case Payment():
            return _outcome_of_payment(entry, item)
        case Task():
            return _outcome_of_task(entry, item)
        case Definition():
            return Outcome.SENT if item.version == entry.version else Outcome.DONE
        case _:
            assert_never(item)


def _outcome_of_payment(entry: Entry, payment: Payment) -> Outcome:
    if payment.version == entry.version:
        return Outcome.SENT
    match payment.state:
        case payments.State.COMPLETED:
            return Outcome.DONE
        # EXECUTING: the attempt failed for a passing reason. The payment's own retries may follow.
        case payments.State.EXECUTING | payments.State.FAILED:
            return Outcome.FAILED
        case payments.State.PENDING | payments.State.CANCELLED:
            return Outcome.CHANGED
        case _:
            assert_never(payment.state)


def _outcome_of_task(entry: Entry, task: Task) -> Outcome:
    begun: int | None = None
    for line in task.history:
        if line.version <= entry.version:
            continue
        match line.to.end:
            case tasks.End.DONE:
                return Outcome.DONE
            case tasks.End.FAILED:
                return Outcome.FAILED
            case tasks.End.MISSED | tasks.End.WITHDRAWN:
                return Outcome.CHANGED
            case None if line.to is tasks.State.RETRYING and begun is not None and line.attempt >= begun:
                return Outcome.FAILED
            case None:
                # A claim that was released, or a change before the attempt, began no attempt.
                begun = line.attempt if line.to is tasks.State.RUNNING else None
            case _:
                assert_never(line.to.end)
    return Outcome.SENT
