"""Recovery in another region: a replica holds each row as of an instant of its own.

DynamoDB's global tables copy row by row, so the region that takes over may have a payment without its movement, or an
account without its payment.
"""

from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from postdate.domain.invariants import checks, is_sound
from postdate.domain.item import Phase
from postdate.domain.mending import Kept
from postdate.domain.payment import State
from tests.unit.recovery.test_money import STEPS, Bank

EVERY = frozenset(Kept)


def replicated(before, after, seed):
    """The bank in the region that takes over. Rows written since `since` have each an age of their own."""
    bank = Bank(first=30)
    for deed, which, amount, wait in before:
        bank.step(deed, which, amount, wait=wait)
    since, seen = bank.clock.now(), [bank.backup()]
    for deed, which, amount, wait in after:
        bank.step(deed, which, amount, wait=wait)
        seen.append(bank.backup())
    draws = Random(seed)
    replica = {
        kept: (name, {key: row for key in rows if (row := draws.choice(seen)[kept][1].get(key)) is not None})
        for kept, (name, rows) in seen[-1].items()
    }
    bank.restores(replica, EVERY)
    return bank, since


@settings(max_examples=500)
@given(before=STEPS, after=STEPS, seed=st.integers(0, 2**32))
def test_a_region_with_rows_of_different_instants_moves_nothing_twice(before, after, seed):
    bank, since = replicated(before, after, seed)
    told = bank.recovers(EVERY, since)
    sound = {name for name in bank.books if name not in told.unsound}
    assert [name for name in sound if not is_sound(bank.books[name])] == []
    bank.settles_all()
    books = bank.books
    assert [name for name in sound if not is_sound(books[name])] == []
    moved = Counter(each.payment_id for each in bank.ledger._movements.values() if each.payment_id)
    assert set(moved.values()) <= {1}
    completed = {each.id for each in bank.ledger._payments.values() if each.state is State.COMPLETED}
    assert moved.keys() == completed
    waiting = [each for each in bank.ledger._payments.values() if each.phase is not Phase.RESTS]
    assert [each for each in waiting if each.payer not in told.unsound] == []
    if not told.unsound:
        assert [check for check in checks(list(books.values()), whole=True) if not check.ok] == []


@settings(max_examples=200)
@given(before=STEPS, after=STEPS, seed=st.integers(0, 2**32))
def test_recovering_a_region_again_finds_nothing(before, after, seed):
    bank, since = replicated(before, after, seed)
    first = bank.recovers(EVERY, since)
    again = bank.recovers(EVERY, since)
    assert (again.completed, again.rebuilt, again.movements, again.opened) == ([], [], [], [])
    assert again.unsound == first.unsound
