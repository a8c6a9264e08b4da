"""The invariants of money, one function each, folded from the journal and the payments without asking the ledger.

I1  all balances together are what was deposited
I2  nothing is below 0
I3  what an account has reserved is what its open payments hold
I4  when all has ended, nothing is held
I5  a movement takes what it gives, and its id follows from its payment
I6  the journal of an account adds up to its balance
I7  what is COMPLETED has one movement, and nothing else has any
"""

from collections import Counter, defaultdict
from typing import Final

from chaos import verdict
from chaos.items import Check, Finding
from chaos.seen import Seen
from chaos.verdict import Verdict
from postdate.domain.movement import Movement

_OPEN: Final = ("PENDING", "EXECUTING")


def i1_money_is_conserved(seen: Seen) -> Verdict:
    there = sum(account.available + account.reserved for account in seen.accounts.values())
    came_in = seen.notes.deposited
    return verdict.of(verdict.unless(there == came_in, f"{there} there, {came_in} deposited"))


def i2_nothing_is_below_zero(seen: Seen) -> Verdict:
    return verdict.of(
        f"{each.id}: {each.available} available, {each.reserved} reserved"
        if min(each.available, each.reserved) < 0
        else None
        for each in seen.accounts.values()
    )


def i3_what_is_reserved_is_held(seen: Seen) -> Verdict:
    held: Counter[str] = Counter()
    for payment in seen.payments.values():
        if payment.state in _OPEN and payment.funding == "reserve":
            held[payment.payer] += payment.amount
    return verdict.of(
        None
        if each.reserved == held[each.id]
        else f"{each.id}: {each.reserved} reserved, {held[each.id]} held"
        for each in seen.accounts.values()
    )


def i4_nothing_is_held_at_the_end(seen: Seen) -> Verdict:
    return verdict.of(
        f"{each.id} still has {each.reserved} reserved" if each.reserved else None
        for each in seen.accounts.values()
    )


def i5_movements_are_sound(seen: Seen) -> Verdict:
    def finding(movement: Movement) -> Finding:
        if movement.amount <= 0 or movement.payer == movement.payee:
            return f"{movement.id} moves {movement.amount} from {movement.payer} to {movement.payee}"
        if movement.type != "PAYMENT":
            return None
        payment = seen.payments.get(movement.payment_id or "")
        if payment is None or not movement.id.endswith(payment.id.rpartition("_")[2]):
            return f"{movement.id} does not follow from {movement.payment_id}"
        told = (movement.payer, movement.payee, movement.amount)
        wanted = (payment.payer, payment.payee, payment.amount)
        return None if told == wanted else f"{movement.id} moves {told}, its payment {wanted}"

    return verdict.of(map(finding, seen.movements))


def i6_the_journal_gives_the_balances(seen: Seen) -> Verdict:
    folded: dict[str | None, int] = defaultdict(int)
    for movement in seen.movements:
        folded[movement.payer] -= movement.amount
        folded[movement.payee] += movement.amount
    return verdict.of(
        None
        if each.available + each.reserved == folded[each.id]
        else f"{each.id}: {each.available + each.reserved} there, {folded[each.id]} by its journal"
        for each in seen.accounts.values()
    )


def i7_a_payment_moves_once(seen: Seen) -> Verdict:
    moved = Counter(each.payment_id for each in seen.movements if each.type == "PAYMENT")
    unknown = (f"{id} has moved and is not there" for id in moved if id not in seen.payments)
    return verdict.of(
        [
            *unknown,
            *(
                None
                if moved[each.id] == (each.state == "COMPLETED")
                else f"{each.id} is {each.state} and has moved {moved[each.id]} times"
                for each in seen.payments.values()
            ),
        ]
    )


def i1_to_i7_by_the_audit(seen: Seen) -> Verdict:
    """`GET /api/v1/audit`: all of its checks, about all accounts."""
    left_out = [*seen.audit["moving"], *seen.audit["unread"], *filter(None, [seen.audit["goes_on_after"]])]
    found = [
        None if each["ok"] else f"{each['name']}: {each['observed']}, not {each['expected']}"
        for each in seen.audit["checks"]
    ]
    return verdict.of([*found, *(f"nothing is said of {account}" for account in left_out)])


CHECKS: Final[tuple[Check, ...]] = (
    i1_money_is_conserved,
    i2_nothing_is_below_zero,
    i3_what_is_reserved_is_held,
    i4_nothing_is_held_at_the_end,
    i5_movements_are_sound,
    i6_the_journal_gives_the_balances,
    i7_a_payment_moves_once,
    i1_to_i7_by_the_audit,
)
