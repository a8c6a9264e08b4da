"""Money after any of its tables was restored: what moved before does not move again, and what differs is named."""

from collections import Counter
from copy import copy
from dataclasses import replace
from datetime import timedelta
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postdate.domain import money, settlement
from postdate.domain.invariants import Books, checks, is_sound
from postdate.domain.item import Phase
from postdate.domain.mending import Kept, NotTogether, Restored
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.payment import Funding, State
from postdate.domain.posting import Leg, Posting
from postdate.recovery.money import Money, MoneyReport
from postdate.stores.ledger import PostingAnswer
from postdate.stores.ledger_memory import MemoryLedger
from postdate.use_cases.settling import Settling
from tests.unit.doubles import MINUTE, PLAN, START, ManualClock, a_registration, an_account

NAMES = ("alice", "bob", "carol")
DAY = timedelta(days=1)
EVERY = [frozenset(each) for each in chain.from_iterable(combinations(Kept, count) for count in (1, 2, 3))]
ALLOWED = [kept for kept in EVERY if kept != {Kept.PAYMENTS, Kept.JOURNAL}]


class Bank:
    """A ledger that lives, is backed up, lives on, and loses tables."""

    def __init__(self, *, first: int = 500) -> None:
        self.clock = ManualClock()
        self.ledger = MemoryLedger(shards=PLAN)
        self.ids: list[str] = []
        for name in NAMES[:2]:
            assert self.ledger.open(an_account(name, available=0, now=self.clock.now()))
            self.deposit(name, first)

    def step(self, deed, which, amount, *, wait=30 * MINUTE):
        self.clock.move(wait)
        open_payments = [
            each for id in self.ids if (each := self.ledger.payment(id)) and not each.state.is_final
        ]
        payer, payee = NAMES[which % 3], NAMES[(which + 1 + amount % 2) % 3]
        match deed:
            case "deposit":
                self.deposit(payer, amount)
            case "register" | "promise":
                funding = Funding.RESERVE if deed == "register" else Funding.AT_EXECUTION
                self.register(payer, payee, amount, funding)
            case "open":
                self.ledger.open(an_account(NAMES[2], available=0, now=self.clock.now()))
            case _ if open_payments:
                self._change(deed, open_payments[which % len(open_payments)], amount)

    def deposit(self, name, amount):
        movement = Movement(
            id=movement_id(self.clock.now(), f"{len(self.ledger._movements):020d}"),
            tenant="demo",
            type=Type.DEPOSIT,
            payer=None,
            payee=name,
            amount=amount,
            at=self.clock.now(),
        )
        self.posts(
            Posting(
                tenant="demo",
                at=self.clock.now(),
                legs=(Leg(account=name, available=amount),),
                movement=movement,
            )
        )

    def register(self, payer, payee, amount, funding=Funding.RESERVE, *, due_in=DAY):
        number, now = len(self.ids) + 1, self.clock.now()
        due_at = now + due_in
        posting = a_registration(
            number, payer=payer, payee=payee, amount=amount, funding=funding, now=now, due_at=due_at
        )
        self.ids.append(posting.after.id)
        self.posts(posting)
        return posting.after.id

    def _change(self, deed, payment, amount):
        now = self.clock.now()
        match deed:
            case "settle":
                early = money.edit(payment, now=now, due_at=now, why="sooner").after
                if self.posts(money.edit(payment, now=now, due_at=now, why="sooner")):
                    self.posts(settlement.settle(early, now=now))
            case "fail":
                self.posts(settlement.fail(payment, now=now, code="account_frozen", why="frozen"))
            case "cancel":
                self.posts(money.cancel(payment, now=now))
            case "change":
                self.posts(money.edit(payment, now=now, amount=amount, why="amount"))

    def posts(self, posting):
        return self.ledger.post([posting])[0].answer is PostingAnswer.DONE

    def backup(self):
        of = {
            Kept.PAYMENTS: "_payments",
            Kept.ACCOUNTS: "_accounts",
            Kept.JOURNAL: "_movements",
        }
        return {kept: (name, copy(getattr(self.ledger, name))) for kept, name in of.items()}

    def restores(self, backup, kept):
        for each in kept:
            name, rows = backup[each]
            setattr(self.ledger, name, copy(rows))

    def recovers(self, kept, since, *, dry=False):
        """Recovers page by page, like the command."""
        use_case = Money(
            ledger=self.ledger, clock=self.clock, restored=Restored(kept=kept, since=since), dry=dry
        )
        told = MoneyReport()
        for step in (use_case.match, use_case.match, use_case.balance):
            found = step("demo")
            assert found.goes_on_after is None
            told.add(found)
        return told

    def settles_all(self):
        """Everything that nobody left to a person, long after it was due."""
        self.clock.move(3 * DAY)
        waiting = [each for each in self.ledger._payments.values() if each.phase is not Phase.RESTS]
        Settling(self.ledger, self.clock).attempt(waiting)

    @property
    def books(self):
        return {
            name: Books(
                account=account,
                payments=tuple(
                    each for each in self.ledger._payments.values() if name in (each.payer, each.payee)
                ),
                movements=tuple(self.ledger.movements("demo", name, after="", limit=10_000)),
            )
            for name in NAMES
            if (account := self.ledger.account("demo", name))
        }


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("deposit", "register", "register", "promise", "open", "settle", "settle"),
                *("fail", "cancel", "change"),
            ]
        ),
        st.integers(0, 5),
        st.sampled_from([5, 5, 10, 40]),
        st.sampled_from([timedelta(seconds=1), 30 * MINUTE]),
    ),
    max_size=12,
)


def lived(before, after):
    bank = Bank(first=30)
    for deed, which, amount, wait in before:
        bank.step(deed, which, amount, wait=wait)
    backup, since = bank.backup(), bank.clock.now()
    for deed, which, amount, wait in after:
        bank.step(deed, which, amount, wait=wait)
    return bank, backup, since


@settings(max_examples=300)
@given(before=STEPS, after=STEPS, kept=st.sampled_from(ALLOWED))
def test_whatever_was_restored_nothing_moves_twice_and_what_differs_is_named(before, after, kept):
    bank, backup, since = lived(before, after)
    bank.restores(backup, kept)
    told = bank.recovers(kept, since)
    sound = {name for name in bank.books if name not in told.unsound}
    assert [name for name in sound if not is_sound(bank.books[name])] == []
    left = [each for each in bank.ledger._payments.values() if each.phase is not Phase.RESTS]
    assert [each for each in left if each.payer in told.unsound] == []
    waited = {each.id for each in bank.ledger._payments.values() if each.phase is not Phase.RESTS}
    bank.settles_all()
    books = bank.books
    assert [name for name in sound if not is_sound(books[name])] == []
    per_payment = Counter(each.payment_id for each in bank.ledger._movements.values() if each.payment_id)
    assert set(per_payment.values()) <= {1}
    assert [each for each in books.values() if each.account.available < 0 or each.account.reserved < 0] == []
    ended = {id for id in waited if (each := bank.ledger.payment(id)) and each.phase is Phase.RESTS}
    stuck = {id for id in waited - ended if bank.ledger.payment(id).payer in told.unsound}
    assert waited == ended | stuck
    if kept not in ({Kept.ACCOUNTS, Kept.JOURNAL},):
        assert [name for name, each in books.items() if each.account.balance != each.moved] == []
    if not told.unsound:
        assert [check for check in checks(list(books.values()), whole=True) if not check.ok] == []


@settings(max_examples=100)
@given(before=STEPS, after=STEPS, kept=st.sampled_from(ALLOWED))
def test_recovering_again_finds_nothing_and_a_dry_run_changes_nothing(before, after, kept):
    bank, backup, since = lived(before, after)
    bank.restores(backup, kept)
    rows = {name: dict(rows) for name, rows in bank.backup().values()}
    planned = bank.recovers(kept, since, dry=True)
    assert {name: dict(rows) for name, rows in bank.backup().values()} == rows
    first = bank.recovers(kept, since)
    assert set(planned.completed) == set(first.completed)
    assert set(planned.rebuilt) == set(first.rebuilt)
    again = bank.recovers(kept, since)
    assert again == MoneyReport(unsound=first.unsound)


@pytest.mark.parametrize("kept", ALLOWED, ids=lambda kept: "+".join(sorted(kept)))
def test_a_payment_that_moved_after_the_backup_under_an_earlier_plan_does_not_move_again(kept):
    """With all tables of one instant it is as if it had never moved, so then it moves."""
    bank = Bank()
    id = bank.register("alice", "bob", 100)
    backup, since = bank.backup(), bank.clock.now()
    bank.clock.move(MINUTE)
    bank._change("settle", bank.ledger.payment(id), 0)
    bank.restores(backup, kept)
    told = bank.recovers(kept, since)
    assert told.unsound == {}
    bank.settles_all()
    assert bank.ledger.payment(id).state is State.COMPLETED
    assert [bank.books[name].account.available for name in NAMES[:2]] == [400, 600]
    assert (id in told.completed) is (Kept.PAYMENTS in kept and Kept.JOURNAL not in kept)


def test_without_recovering_the_ledger_itself_refuses_it():
    bank = Bank()
    id = bank.register("alice", "bob", 100)
    bank.register("alice", "bob", 100, due_in=9 * DAY)
    backup = bank.backup()
    bank.clock.move(MINUTE)
    bank._change("settle", bank.ledger.payment(id), 0)
    bank.restores(backup, {Kept.PAYMENTS})
    bank.settles_all()
    assert bank.ledger.payment(id).state is State.PENDING
    assert [bank.books[name].account.balance for name in NAMES[:2]] == [400, 600]


def test_a_cancel_that_only_the_account_remembers_leaves_the_payment_to_a_person():
    bank = Bank()
    id = bank.register("alice", "bob", 100)
    other = bank.register("bob", "alice", 50)
    backup, since = bank.backup(), bank.clock.now()
    bank.clock.move(30 * MINUTE)
    bank._change("cancel", bank.ledger.payment(id), 0)
    bank.restores(backup, {Kept.PAYMENTS})
    told = bank.recovers({Kept.PAYMENTS}, since)
    assert told.unsound == {"alice": "500 there, 500 by its journal; 0 reserved, 100 held"}
    assert told.parked == [id]
    bank.settles_all()
    assert bank.ledger.payment(id).state is State.EXECUTING
    assert bank.ledger.payment(other).state is State.COMPLETED


def test_a_payment_that_was_registered_and_moved_after_the_backup_is_rebuilt_from_its_movement():
    """A retry of its registration finds it then, instead of registering it once more."""
    bank = Bank()
    backup, since = bank.backup(), bank.clock.now()
    id = bank.register("alice", "bob", 70)
    bank._change("settle", bank.ledger.payment(id), 0)
    before = bank.ledger.payment(id)
    bank.restores(backup, {Kept.PAYMENTS})
    told = bank.recovers({Kept.PAYMENTS}, since)
    assert told.rebuilt == [id]
    found = bank.ledger.payment(id)
    assert (found.state, found.amount, found.finished_at) == (State.COMPLETED, 70, before.finished_at)


def test_an_account_that_was_opened_after_the_backup_is_opened_again_with_what_is_its_own():
    bank = Bank()
    backup, since = bank.backup(), bank.clock.now()
    assert bank.ledger.open(an_account("carol", available=0, now=bank.clock.now()))
    id = bank.register("alice", "carol", 70)
    bank._change("settle", bank.ledger.payment(id), 0)
    waits = bank.register("carol", "bob", 20)
    bank.restores(backup, {Kept.ACCOUNTS})
    told = bank.recovers({Kept.ACCOUNTS}, since)
    assert told.opened == ["carol"]
    carol = bank.ledger.account("demo", "carol")
    assert (carol.available, carol.reserved) == (50, 20)
    bank.settles_all()
    assert bank.ledger.payment(waits).state is State.COMPLETED


def test_movements_that_only_a_lost_journal_had_become_one_adjustment():
    bank = Bank()
    backup, since = bank.backup(), bank.clock.now()
    bank.clock.move(30 * MINUTE)
    bank.deposit("alice", 33)
    bank.restores(backup, {Kept.JOURNAL})
    told = bank.recovers({Kept.JOURNAL}, since)
    assert told.adjusted == ["alice"]
    (adjustment,) = [each for each in bank.ledger._movements.values() if each.type is Type.ADJUSTMENT]
    assert (adjustment.payee, adjustment.amount) == ("alice", 33)
    assert adjustment.reason == f"restored to {since.isoformat()}"


def test_accounts_that_stood_still_since_are_not_read():
    bank = Bank()
    bank.clock.move(30 * MINUTE)
    since = bank.clock.now()
    read = []
    honest = bank.ledger.payments_listed
    bank.ledger.payments_listed = lambda wanted, **more: read.append(wanted.account) or honest(wanted, **more)
    bank.clock.move(30 * MINUTE)
    bank.deposit("bob", 1)
    bank.recovers({Kept.PAYMENTS}, since)
    assert set(read) == {"bob"}


def test_payments_and_journal_without_the_accounts_are_refused():
    with pytest.raises(NotTogether):
        Restored(kept=frozenset({Kept.PAYMENTS, Kept.JOURNAL}), since=START).check()
    for kept in ALLOWED:
        Restored(kept=kept, since=START).check()


def test_a_payment_that_changes_during_a_recovery_is_a_conflict():
    bank = Bank()
    id = bank.register("alice", "bob", 100)
    backup, since = bank.backup(), bank.clock.now()
    bank._change("settle", bank.ledger.payment(id), 0)
    bank.restores(backup, {Kept.PAYMENTS})
    payment = bank.ledger.payment(id)
    honest = bank.ledger.post

    def meddled(postings):
        bank.ledger._payments[id] = replace(payment, version=payment.version + 1)
        return honest(postings)

    bank.ledger.post = meddled
    with pytest.raises(Exception, match="does something else move money"):
        bank.recovers({Kept.PAYMENTS}, since)


def test_money_that_a_lost_deposit_brought_is_not_held_by_anybody():
    bank = Bank(first=0)
    backup, since = bank.backup(), bank.clock.now()
    bank.deposit("alice", 100)
    id = bank.register("alice", "bob", 80)
    kept = {Kept.ACCOUNTS, Kept.JOURNAL}
    bank.restores(backup, kept)
    told = bank.recovers(kept, since)
    assert told.unsound == {"alice": "0 there, 0 by its journal; 0 reserved, 80 held"}
    assert told.parked == [id]
