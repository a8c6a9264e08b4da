"""Invariants of money, as checks over rows that were read. A check that fails names the accounts.

conservation             the sum of all balances equals the money that came in, less the money that went out
no_negative_balance      neither part of an account is below 0
reserved_matches_holds   the reserved money of an account equals the holds of its open payments
legs_sum_to_zero         a movement takes from one side what it gives to the other, under an id that follows from
                         its payment
journal_gives_balances   the journal of an account adds up to its balance
one_movement_a_payment   a completed payment has exactly one movement, and no other payment has any; a movement
                         outlives the row of its payment
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postdate.domain.account import Account
from postdate.domain.movement import Movement, Type, payment_movement_id
from postdate.domain.payment import Payment, State

# Names in one check.
_TOLD_MAX = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Books:
    """An account and its whole history, read at one moment."""

    # The account.
    account: Account
    # All its payments, as payer and as payee.
    payments: tuple[Payment, ...]
    # All its movements, in both directions.
    movements: tuple[Movement, ...]
    # The ids of payments that may have left their table for the archive. Movements stay.
    archived: frozenset[str] = frozenset()

    @property
    def held(self) -> int:
        return sum(payment.held for payment in self.payments if payment.payer == self.account.id)

    @property
    def moved(self) -> int:
        return sum(movement.effect_on(self.account.id) for movement in self.movements)

    @property
    def from_outside(self) -> int:
        return sum(
            movement.effect_on(self.account.id)
            for movement in self.movements
            if movement.payer is None or movement.payee is None
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """The result of one invariant."""

    # The name of the invariant.
    name: str
    # True if it holds.
    ok: bool
    # The number that was found, or the names of the rows that are wrong.
    observed: object
    # The number that is right; an empty list in place of names.
    expected: object


def checks(books: Sequence[Books], *, whole: bool) -> list[Check]:
    """`whole` says that the books are all there are: then what moves between them cancels out."""
    balances = sum(each.account.balance for each in books)
    came_in = sum(each.from_outside if whole else each.moved for each in books)
    return [
        Check(name="conservation", ok=balances == came_in, observed=balances, expected=came_in),
        _none_of("no_negative_balance", (each.account.id for each in books if _is_negative(each))),
        _none_of("reserved_matches_holds", filter(None, map(_wrong_hold, books))),
        _none_of("legs_sum_to_zero", {id for each in books for id in _unsound(each)}),
        _none_of("journal_gives_balances", filter(None, map(_wrong_balance, books))),
        _none_of("one_movement_a_payment", {id for each in books for id in _unmatched(each)}),
    ]


def is_sound(books: Books) -> bool:
    """True if every check about this account alone holds."""
    return all(check.ok for check in checks([books], whole=False))


def _none_of(name: str, wrong: Iterable[str]) -> Check:
    found = sorted(wrong)
    return Check(name=name, ok=not found, observed=found[:_TOLD_MAX], expected=[])


def _is_negative(books: Books) -> bool:
    return books.account.available < 0 or books.account.reserved < 0


def _wrong_hold(books: Books) -> str | None:
    reserved, held = books.account.reserved, books.held
    return None if reserved == held else f"{books.account.id}: {reserved} reserved, {held} held"


def _wrong_balance(books: Books) -> str | None:
    balance, moved = books.account.balance, books.moved
    return None if balance == moved else f"{books.account.id}: {balance} there, {moved} by its journal"


def _unsound(books: Books) -> set[str]:
    payments = {payment.id: payment for payment in books.payments}
    return {each.id for each in books.movements if not _is_sound(each, payments.get(each.payment_id or ""))}


def _is_sound(movement: Movement, payment: Payment | None) -> bool:
    # An adjustment of nothing tells that the account was set to what its journal says.
    least = 0 if movement.type is Type.ADJUSTMENT else 1
    if sum(amount for _, amount in movement.legs) != 0 or movement.amount < least:
        return False
    if movement.type is not Type.PAYMENT:
        return movement.payment_id is None
    return payment is None or (movement.id, movement.amount, movement.payer, movement.payee) == (
        payment_movement_id(payment.id),
        payment.amount,
        payment.payer,
        payment.payee,
    )


def _unmatched(books: Books) -> set[str]:
    """Payments without their one movement, and movements without their payment."""
    completed = {each.id for each in books.payments if each.state is State.COMPLETED}
    moved = Counter(each.payment_id or each.id for each in books.movements if each.type is Type.PAYMENT)
    return ((completed ^ moved.keys()) - books.archived) | {id for id, times in moved.items() if times > 1}
