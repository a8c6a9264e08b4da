"""Invariants of money and payments in every state, in every step, and in final states."""

from collections.abc import Iterator
from typing import Final

from tests.model.ledger import Books
from tests.model.payments import PAYEE, PAYER, P
from tests.model.plan import Plan
from tests.model.tasks import NEVER
from tests.simulation.transitions import FINAL, PAYMENTS

_ACCOUNTS: Final = (PAYER, PAYEE)


def i1_money_is_conserved(plan: Plan, books: Books) -> str | None:
    there = sum(account.available + account.reserved for account in books.accounts)
    return None if there == plan.money else f"I1: there is {there} in all, and {plan.money} came in"


def i2_nothing_is_below_zero(plan: Plan, books: Books) -> str | None:
    return "I2: an account is below 0" if any(min(account) < 0 for account in books.accounts) else None


def i3_what_is_reserved_is_held(plan: Plan, books: Books) -> str | None:
    held = sum(payment.amount for payment in books.payments if payment.state not in FINAL)
    wanted = held if plan.reserves else 0
    found = books.accounts[0].reserved
    return None if found == wanted else f"I3 I4: {found} is reserved, and {wanted} is held"


def i5_a_movement_follows_from_its_payment(plan: Plan, books: Books) -> str | None:
    names = [movement[0] for movement in books.journal]
    if len(set(names)) < len(names) or any(each[1:3] != _ACCOUNTS for each in books.journal):
        return f"I5: the journal has {books.journal}"
    return None


def i6_the_journal_gives_the_balances(plan: Plan, books: Books) -> str | None:
    moved = sum(movement[3] for movement in books.journal)
    found = [account.available + account.reserved for account in books.accounts]
    return (
        None if found == [plan.money - moved, moved] else f"I6: the journal moves {moved}, accounts {found}"
    )


def i7_once(plan: Plan, books: Books) -> str | None:
    done = sorted(payment.amount for payment in books.payments if payment.state == "COMPLETED")
    moved = sorted(movement[3] for movement in books.journal)
    return None if done == moved else f"I7: completed {done}, moved {moved}"


_OF_A_STATE: Final = (
    i1_money_is_conserved,
    i2_nothing_is_below_zero,
    i3_what_is_reserved_is_held,
    i5_a_movement_follows_from_its_payment,
    i6_the_journal_gives_the_balances,
    i7_once,
)


def i8_only_what_the_table_allows(was: P, payment: P) -> str | None:
    if payment.version != was.version + 1:
        return f"I8: goes from version {was.version} to {payment.version}"
    allowed = payment.state in PAYMENTS[was.state]
    return None if allowed else f"I8: goes from {was.state} to {payment.state}"


def i12_never_early(now: int, was: P, payment: P) -> str | None:
    early = payment.state == "COMPLETED" and now < was.planned
    return f"I12: settled at {now}, planned for {was.planned}" if early else None


def i14_i15_what_was_told_stays(told: tuple[str, ...], payment: P) -> str | None:
    name = payment.number + 1
    if payment.state != "CANCELLED" and f"cancelled {name}" in told:
        return f"I14 I15: was told to be CANCELLED and is {payment.state}"
    if payment.state != "COMPLETED" and f"executed {name}" in told:
        return f"I14: was told to be COMPLETED and is {payment.state}"
    return None


def i16_only_its_letter(before: Books, after: Books, was: P) -> str | None:
    """A parked payment is settled only by the letter of its very version, or by another service's word."""
    worker = next((a for a, b in zip(before.workers, after.workers, strict=True) if a is not b), None)
    if worker is None or was.state != "EXECUTING" or was.lease != NEVER:
        return None
    own = worker.message.version == was.version
    return None if own else "I16: a mere duplicate settles what waits for a person"


def wrong_steps(plan: Plan, before: Books, after: Books) -> Iterator[str | None]:
    for each in _OF_A_STATE:
        yield each(plan, after)
    for was, payment in zip(before.payments, after.payments, strict=False):
        if was != payment:
            yield i8_only_what_the_table_allows(was, payment)
            yield i12_never_early(before.now, was, payment)
            yield i14_i15_what_was_told_stays(before.told, payment)
            yield i16_only_its_letter(before, after, was)


def wrong_ends(books: Books) -> Iterator[str]:
    for payment in books.payments:
        if payment.state in FINAL:
            continue
        if payment.state != "EXECUTING" or payment.lease != NEVER:
            yield f"I11 I22 I4: payment {payment.number + 1} is left {payment.state}"
        elif (payment.number, payment.version) not in books.letters:
            yield f"I16: payment {payment.number + 1} waits for a person and there is no letter of it"
