"""The audit looks on while money moves, and accuses nobody of an index that is behind."""

from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.audit import view
from postdate.domain import money, settlement
from postdate.domain.account import Account
from postdate.domain.errors import Unreadable
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.payment import KIND, Payment, Terms
from postdate.domain.posting import Leg, Posting
from postdate.domain.slots import UNIQUE_BYTES, item_id
from postdate.stores.ledger import ListedPayment, PaymentsWanted, PostingAnswer
from postdate.stores.ledger_memory import MemoryLedger
from postdate.use_cases.auditing import PAUSES, Audited, Auditor
from tests.unit.doubles import MINUTE, PLAN, START, ManualClock


class BehindLedger(MemoryLedger):
    """The first `behind` reads of its lists show nothing; `moves` changes an account at each read."""

    def __init__(self) -> None:
        super().__init__(shards=PLAN)
        self.behind = 0
        self.moves = False

    def payments_listed(self, wanted: PaymentsWanted, *, after: str, limit: int) -> list[ListedPayment]:
        if self.moves:
            self._change(wanted.tenant, str(wanted.account), version=1)
        if self.behind > 0:
            self.behind -= 1
            return []
        return super().payments_listed(wanted, after=after, limit=limit)

    def take(self, account: str, amount: int) -> None:
        self._change("acme", account, available=-amount)

    def _change(self, tenant: str, account: str, **by: int) -> None:
        known = self._accounts[tenant, account]
        changes = {name: getattr(known, name) + amount for name, amount in by.items()}
        self._accounts[tenant, account] = replace(known, **changes)


@pytest.fixture
def ledger() -> BehindLedger:
    ledger = BehindLedger()
    for number, id in enumerate(("alice", "bob", "carol")):
        assert ledger.open(Account(id=id, tenant="acme", created_at=START, updated_at=START))
        deposit = Movement(
            id=movement_id(START, f"{number:016d}"),
            tenant="acme",
            type=Type.DEPOSIT,
            payer=None,
            payee=id,
            amount=100,
            at=START,
        )
        legs = (Leg(account=id, available=100),)
        assert (
            ledger.post([Posting(tenant="acme", at=START, legs=legs, movement=deposit)])[0].answer
            is PostingAnswer.DONE
        )
    for number, amount in enumerate((10, 20, 30)):
        payment = registered(ledger, number, amount)
        if number:
            assert ledger.post([settlement.settle(payment, now=START)])[0].answer is PostingAnswer.DONE
    return ledger


def registered(ledger: MemoryLedger, number: int, amount: int) -> Payment:
    unique = number.to_bytes(UNIQUE_BYTES)
    posting = money.register(
        Terms(payer="alice", payee="bob", amount=amount),
        id=item_id(KIND, PLAN.slot(START, unique), unique),
        tenant="acme",
        due_at=START,
        now=START - MINUTE,
    )
    assert ledger.post([posting])[0].answer is PostingAnswer.DONE
    assert posting.after is not None
    return posting.after


def audited(ledger: MemoryLedger, *, after: str = "") -> tuple[Audited, timedelta]:
    clock = ManualClock()
    return Auditor(ledger=ledger, clock=clock).audit("acme", after=after), clock.now() - START


def wrong(audited: Audited) -> set[str]:
    return {check.name for check in audited.checks if not check.ok}


def test_sound_money_is_found_sound_at_the_first_look(ledger: BehindLedger) -> None:
    found, took = audited(ledger)
    assert (wrong(found), found.accounts, found.moving, found.goes_on_after) == (set(), 3, [], None)
    assert took == timedelta(0)
    told = view(found, START)
    assert told["ok"] is True
    assert told["checks"][0] == {
        "name": "conservation",
        "ok": True,
        "observed": 300,
        "expected": 300,
        "checked_at": "2026-11-18T10:05:00.000Z",
    }


def test_money_that_is_gone_is_told_with_its_account(ledger: BehindLedger) -> None:
    ledger.take("bob", 1)
    found, took = audited(ledger)
    assert wrong(found) == {"conservation", "journal_gives_balances"}
    assert took == sum(PAUSES, timedelta(0))
    told = view(found, START)
    assert told["ok"] is False
    assert "bob: 149 there, 150 by its journal" in str(told["checks"])


def test_a_listing_that_is_behind_is_waited_for(ledger: BehindLedger) -> None:
    ledger.behind = 6
    found, took = audited(ledger)
    assert (wrong(found), found.accounts) == (set(), 3)
    assert took > timedelta(0)


def test_an_account_that_never_stands_still_is_named_and_not_judged(ledger: BehindLedger) -> None:
    ledger.moves = True
    found, _ = audited(ledger)
    assert wrong(found) == set()
    assert sorted(found.moving) == ["alice", "bob", "carol"]


def test_an_account_that_its_index_does_not_show_yet_is_looked_at_all_the_same(ledger: BehindLedger) -> None:
    class NewBob(BehindLedger):
        def accounts_listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
            return [id for id in super().accounts_listed(tenant, after=after, limit=limit) if id != "bob"]

    hidden = NewBob()
    hidden.__dict__.update(ledger.__dict__)
    found, _ = audited(hidden)
    assert (wrong(found), found.accounts) == (set(), 3)


def test_an_audit_that_goes_on_after_an_account_looks_at_the_rest_alone(ledger: BehindLedger) -> None:
    found, _ = audited(ledger, after="alice")
    assert (wrong(found), found.accounts) == (set(), 2)


def test_an_account_with_more_than_there_is_time_for_is_named_and_the_others_are_judged(
    ledger: BehindLedger,
) -> None:
    clock = ManualClock()

    class SlowLedger(BehindLedger):
        def payments_listed(self, wanted: PaymentsWanted, *, after: str, limit: int) -> list[ListedPayment]:
            if wanted.account == "bob":
                clock.move(timedelta(seconds=20))
                return super().payments_listed(wanted, after="", limit=limit)
            return super().payments_listed(wanted, after=after, limit=limit)

    slow = SlowLedger()
    slow.__dict__.update(ledger.__dict__)
    found = Auditor(ledger=slow, clock=clock).audit("acme")
    assert "bob" in found.unread
    assert wrong(found) == set()
    assert found.accounts == 3


def test_an_account_with_a_movement_that_cannot_be_read_is_named_and_the_others_are_judged(
    ledger: BehindLedger,
) -> None:
    class OlderLedger(BehindLedger):
        def movements(
            self, tenant: str, account: str, *, after: str, limit: int, whole: bool = False
        ) -> list[Movement]:
            if account == "bob" and whole:
                raise Unreadable
            return super().movements(tenant, account, after=after, limit=limit, whole=whole)

    older = OlderLedger()
    older.__dict__.update(ledger.__dict__)
    found = Auditor(ledger=older, clock=ManualClock()).audit("acme")
    assert (found.unread, found.moving, found.accounts) == (["bob"], [], 3)
    assert wrong(found) == set()


def test_money_that_moves_between_two_accounts_that_were_read_one_after_the_other_is_no_finding(
    ledger: BehindLedger,
) -> None:
    class BusyLedger(BehindLedger):
        moved = False

        def account(self, tenant: str, id: str) -> Account | None:
            """A payment of alice reaches bob between the reads of alice and of bob."""
            if id == "bob" and not self.moved:
                self.moved = True
                payment = registered(self, 9, 7)
                assert self.post([settlement.settle(payment, now=START)])[0].answer is PostingAnswer.DONE
            return super().account(tenant, id)

    busy = BusyLedger()
    busy.__dict__.update(ledger.__dict__)

    found = Auditor(ledger=busy, clock=ManualClock()).audit("acme")
    assert wrong(found) == set()
