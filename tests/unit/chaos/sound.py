"""A small world in which every promise is kept: what the checks of chaos are to find sound, until a test breaks it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from chaos.items import milliseconds
from chaos.notes import Notes, Promised, Recurring
from chaos.seen import Arrival, Letter, Replay, Seen
from postdate.domain import transitions, verdicts
from postdate.domain.account import Account
from postdate.domain.due import Due
from postdate.domain.movement import Movement, Type, payment_movement_id
from postdate.domain.payment import Payment
from postdate.domain.payment import State as PaymentState
from postdate.domain.recurs import Recurs
from postdate.domain.task import State, Task
from postdate.domain.transitions import Failure, Transition
from tests.unit.doubles import LEASE, SECOND, START, a_payment, a_task, claimed, in_state, payment_in

LATE: Final = timedelta(milliseconds=3)
AMOUNT: Final = 25


def retried(task: Task) -> Task:
    """Failed once, and then delivered."""
    now = task.due_at + SECOND
    failed = transitions.fail(claimed(task), now=now, failure=Failure(why="http 500"), draw=0.0).after
    again = verdicts.claim(
        failed,
        Due.of(failed),
        now=failed.due_at + LATE,
        lease=LEASE,
        holder="worker-1",
        repeated=False,
        why="retry",
    )
    assert isinstance(again, Transition)
    return transitions.succeed(again.after, now=failed.due_at + SECOND, why="http 200").after


TASK: Final = retried(a_task(1, name="task"))
CANCELLED: Final = in_state(State.CANCELLED, a_task(2, name="cancelled"))
DEAD: Final = in_state(State.DEAD, a_task(3, name="dead"))
PLAN: Final = "task_plan"
RUN: Final = in_state(
    State.SUCCEEDED, a_task(4, recurs=Recurs(definition=PLAN, plan=1, at=START, number=1), name="plan")
)


def paid(number: int, name: str, state: PaymentState) -> Payment:
    waiting = a_payment(number, payer="alice", payee="bob", amount=AMOUNT)
    return payment_in(state, replace(waiting, description=name))


PAID: Final = paid(5, "paid", PaymentState.COMPLETED)
UNPAID: Final = paid(6, "unpaid", PaymentState.CANCELLED)


def arrival(task: Task, token: int, after: timedelta = LATE) -> Arrival:
    return Arrival(
        task=task.task_id,
        run=task.id,
        key=task.id,
        token=token,
        attempt=token,
        planned_at=task.planned_at.isoformat(),
        at_ms=milliseconds(task.planned_at + after) + 0.25,
    )


def promised(item: Task | Payment, *, cancelled: bool = False) -> Promised:
    key = item.description if isinstance(item, Payment) else item.name
    return Promised(
        key=key or "",
        path="/",
        form={},
        id=item.id,
        earliest_ms=milliseconds(item.planned_at),
        version=2 if cancelled else 1,
        status="CANCELLED" if cancelled else "PENDING",
        cancelled=cancelled,
    )


def movement(id: str, payer: str | None, payee: str, amount: int, payment: str | None = None) -> Movement:
    kind = Type.DEPOSIT if payment is None else Type.PAYMENT
    return Movement(
        id=id, tenant="demo", type=kind, payer=payer, payee=payee, amount=amount, at=START, payment_id=payment
    )


def account(id: str, available: int) -> Account:
    return Account(id=id, tenant="demo", created_at=START, updated_at=START, available=available)


def seen(**changes: Any) -> Seen:
    notes = Notes(
        promised=[
            promised(TASK),
            promised(CANCELLED, cancelled=True),
            promised(DEAD),
            promised(PAID),
            promised(UNPAID, cancelled=True),
        ],
        deposited=100,
    )
    paid_id = payment_movement_id(PAID.id)
    sound = Seen(
        notes=notes,
        recurring=[Recurring(id=PLAN, planned_ms=(milliseconds(START),))],
        tasks={each.id: each for each in (TASK, CANCELLED, DEAD, RUN)},
        payments={each.id: each for each in (PAID, UNPAID)},
        accounts={"alice": account("alice", 100 - AMOUNT), "bob": account("bob", AMOUNT)},
        movements=[
            movement("txn_in", None, "alice", 100),
            movement(paid_id, "alice", "bob", AMOUNT, PAID.id),
        ],
        arrivals=[
            arrival(TASK, 1),
            arrival(TASK, 2, after=12 * SECOND),
            arrival(DEAD, 1),
            arrival(RUN, 1),
        ],
        words={RUN.id: 1},
        letters=[Letter(DEAD.id, DEAD.version)],
        queued={"tasks": 0, "payments": 0},
        replays=[
            *(Replay(each, 201, each.id) for each in notes.promised),
            Replay(notes.promised[0], 422, None, True),
        ],
        audit={
            "moving": [],
            "unread": [],
            "goes_on_after": None,
            "checks": [{"name": "conservation", "ok": True, "observed": 100, "expected": 100}],
        },
    )
    return replace(sound, **changes)
