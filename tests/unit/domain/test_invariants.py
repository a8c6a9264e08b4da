"""Each check holds over sound books and fails over books in which that one thing is wrong."""

from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain import money, settlement
from postdate.domain.account import Account
from postdate.domain.invariants import Books, checks, is_sound
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.payment import KIND, Payment, Terms
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from tests.unit.doubles import START

PLAN = ShardPlan.parse("0=4")


def a_payment(number: int, amount: int) -> Payment:
    unique = number.to_bytes(UNIQUE_BYTES)
    posting = money.register(
        Terms(payer="alice", payee="bob", amount=amount),
        id=item_id(KIND, PLAN.slot(START, unique), unique),
        tenant="acme",
        due_at=START,
        now=START - timedelta(minutes=1),
    )
    assert posting.after is not None
    return posting.after


def deposit(account: str, amount: int) -> Movement:
    return Movement(
        id=movement_id(START, f"{amount:016d}"),
        tenant="acme",
        type=Type.DEPOSIT,
        payer=None,
        payee=account,
        amount=amount,
        at=START,
    )


def account(id: str, *, available: int, reserved: int = 0) -> Account:
    return Account(
        id=id, tenant="acme", created_at=START, updated_at=START, available=available, reserved=reserved
    )


HELD, SETTLED = a_payment(1, 30), settlement.settle(a_payment(2, 20), now=START)
assert SETTLED.after is not None
assert SETTLED.movement is not None
PAYMENTS = (HELD, SETTLED.after)
ALICE = Books(
    account=account("alice", available=50, reserved=30),
    payments=PAYMENTS,
    movements=(deposit("alice", 100), SETTLED.movement),
)
BOB = Books(account=account("bob", available=20), payments=PAYMENTS, movements=(SETTLED.movement,))


def failing(*books: Books, whole: bool = True) -> set[str]:
    return {check.name for check in checks(books, whole=whole) if not check.ok}


def test_sound_books_pass_whole_and_in_part() -> None:
    assert failing(ALICE, BOB) == set()
    assert failing(ALICE, whole=False) == failing(BOB, whole=False) == set()
    assert is_sound(ALICE)
    (conserved, *_) = checks([ALICE, BOB], whole=True)
    assert (conserved.observed, conserved.expected) == (100, 100)


def with_account(books: Books, **changes: int) -> Books:
    return replace(books, account=replace(books.account, **changes))


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (with_account(ALICE, available=51), {"conservation", "journal_gives_balances"}),
        (with_account(ALICE, available=80, reserved=0), {"reserved_matches_holds"}),
        (with_account(ALICE, available=-1, reserved=81), {"no_negative_balance", "reserved_matches_holds"}),
        (replace(ALICE, movements=ALICE.movements[:1]), {"journal_gives_balances", "one_movement_a_payment"}),
        (replace(ALICE, payments=(HELD,)), {"one_movement_a_payment"}),
        (
            replace(ALICE, movements=(*ALICE.movements, replace(ALICE.movements[1], id="txn_2"))),
            {"journal_gives_balances", "one_movement_a_payment", "legs_sum_to_zero"},
        ),
        (
            replace(ALICE, movements=(ALICE.movements[0], replace(ALICE.movements[1], id="txn_2"))),
            {"legs_sum_to_zero"},
        ),
        (
            replace(ALICE, movements=(ALICE.movements[0], replace(ALICE.movements[1], amount=21))),
            {"legs_sum_to_zero", "journal_gives_balances"},
        ),
    ],
)
def test_each_broken_invariant_is_found_by_its_name(wrong: Books, found: set[str]) -> None:
    assert failing(wrong, BOB) == found
    assert not is_sound(wrong)


def test_money_that_came_from_nowhere_is_found_even_where_the_journal_agrees() -> None:
    """Bob has a movement that Alice's journal does not know."""
    unknown = replace(SETTLED.movement, id="txn_9", payment_id="pay_9")
    rich = replace(BOB, account=replace(BOB.account, available=40), movements=(*BOB.movements, unknown))
    assert "conservation" in failing(ALICE, rich)
