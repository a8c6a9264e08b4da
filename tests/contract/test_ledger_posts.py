"""A posting is written whole or not at all, and what is wrong with one spoils no other."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from postdate.domain import money as steps
from postdate.domain import settlement
from postdate.domain.account import Account, Limits, Status
from postdate.domain.payment import Funding, State
from postdate.domain.posting import Leg, Posting
from postdate.domain.retry import RetryPolicy
from postdate.stores.ledger import Posted, PostingAnswer
from tests.contract.money import MINUTE, Money


def test_money_is_held_settled_and_told_in_the_journal(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    payment = money.registered("alice", "bob", 30, description="rent", metadata=(("order", "7"),))
    assert money.balances("alice", "bob") == [(70, 30), (0, 0)]
    assert money.ledger.payment(payment.id) == payment
    settled = money.settle(payment)
    assert money.answers(settled) == [PostingAnswer.DONE]
    assert money.balances("alice", "bob") == [(70, 0), (30, 0)]
    assert money.ledger.payment(payment.id) == settled.after
    (deposit, sent), (received,) = money.journal("alice"), money.journal("bob")
    assert sent == received == settled.movement
    assert deposit.effect_on("alice") + sent.effect_on("alice") == 70


def test_a_hold_beyond_the_available_money_is_refused_and_nothing_is_written(money: Money) -> None:
    money.accounts(alice=29, bob=0)
    posting = money.payment("alice", "bob", 30)
    assert money.ledger.post([posting]) == [Posted(answer=PostingAnswer.SHORT, account="alice")]
    assert money.balances("alice") == [(29, 0)]
    assert posting.after is not None
    assert money.ledger.payment(posting.after.id) is None


def test_the_last_unit_can_be_held(money: Money) -> None:
    money.accounts(alice=30, bob=0)
    money.registered("alice", "bob", 30)
    assert money.balances("alice") == [(0, 30)]


def test_a_payment_settles_once(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    payment = money.registered("alice", "bob", 30)
    assert money.answers(money.settle(payment)) == [PostingAnswer.DONE]
    again = settlement.settle(payment, now=money.now + timedelta(milliseconds=5))
    assert money.answers(again) == [PostingAnswer.STALE]
    assert money.balances("alice", "bob") == [(70, 0), (30, 0)]
    assert len(money.journal("bob")) == 1


def test_of_a_cancel_and_a_settlement_exactly_one_wins(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    first, second = money.registered("alice", "bob", 30), money.registered("alice", "bob", 20)
    cancelled = steps.cancel(first, now=money.now)
    assert cancelled is not None
    assert money.answers(cancelled, money.settle(second)) == [PostingAnswer.DONE, PostingAnswer.DONE]
    late = steps.cancel(second, now=money.now)
    assert late is not None
    assert money.answers(money.settle(first), late) == [PostingAnswer.STALE, PostingAnswer.STALE]
    assert money.balances("alice", "bob") == [(80, 0), (20, 0)]


def test_without_a_hold_the_balance_decides_at_the_instant(money: Money) -> None:
    money.accounts(alice=10, bob=0)
    payment = money.registered("alice", "bob", 30, funding=Funding.AT_EXECUTION)
    assert money.balances("alice") == [(10, 0)]
    assert money.ledger.post([money.settle(payment)]) == [Posted(answer=PostingAnswer.SHORT, account="alice")]
    assert money.answers(money.deposit("alice", 20), money.settle(payment)) == [
        PostingAnswer.DONE,
        PostingAnswer.DONE,
    ]
    assert money.balances("alice", "bob") == [(0, 0), (30, 0)]


def test_a_frozen_account_neither_gives_nor_takes_but_gets_back_what_is_its_own(money: Money) -> None:
    money.accounts(alice=100, bob=0, carol=50)
    payment = money.registered("alice", "bob", 30)
    incoming = money.registered("carol", "alice", 5)
    frozen = money.ledger.set_status(money.tenant, "alice", Status.FROZEN, now=money.now)
    assert frozen is not None
    assert frozen.status is Status.FROZEN
    refused = Posted(answer=PostingAnswer.FROZEN, account="alice")
    assert money.ledger.post([money.payment("alice", "bob", 1)]) == [refused]
    assert money.ledger.post([money.settle(payment)]) == [refused]
    assert money.ledger.post([money.settle(incoming)]) == [refused]
    failed = settlement.fail(payment, now=money.now, code="account_frozen", why="alice is frozen")
    assert money.answers(failed) == [PostingAnswer.DONE]
    assert money.balances("alice", "carol") == [(100, 0), (45, 5)]
    money.ledger.set_status(money.tenant, "alice", Status.ACTIVE, now=money.now)
    assert money.answers(money.settle(incoming)) == [PostingAnswer.DONE]


def test_an_account_that_is_not_there_is_named(money: Money) -> None:
    money.accounts(alice=100)
    posting = money.payment("nobody", "alice", 5)
    assert money.ledger.post([posting]) == [Posted(answer=PostingAnswer.UNKNOWN, account="nobody")]
    payment = money.registered("alice", "nobody", 5)
    assert money.ledger.post([money.settle(payment)]) == [
        Posted(answer=PostingAnswer.UNKNOWN, account="nobody")
    ]
    assert money.balances("alice") == [(95, 5)]


def test_a_hundred_payments_from_one_account_are_held_together(money: Money) -> None:
    money.accounts(alice=1000, bob=0)
    postings = [money.payment("alice", "bob", 7) for _ in range(100)]
    assert money.answers(*postings) == [PostingAnswer.DONE] * 100
    assert money.balances("alice") == [(300, 700)]


def test_of_payments_that_together_are_too_much_as_many_are_held_as_there_is_money_for(money: Money) -> None:
    money.accounts(alice=100, bob=0, carol=10)
    postings = [money.payment("alice", "bob", 30) for _ in range(5)]
    postings.insert(2, money.payment("carol", "bob", 10))
    answers = money.answers(*postings)
    assert answers.count(PostingAnswer.DONE) == 4
    assert answers[2] is PostingAnswer.DONE
    assert {answer for answer in answers if answer is not PostingAnswer.DONE} == {PostingAnswer.SHORT}
    assert money.balances("alice", "carol") == [(10, 90), (0, 10)]


def test_one_that_was_cancelled_spoils_none_of_those_it_is_written_with(money: Money) -> None:
    money.accounts(alice=1000, bob=0)
    payments = [money.registered("alice", "bob", 10) for _ in range(40)]
    cancelled = steps.cancel(payments[17], now=money.now)
    assert cancelled is not None
    assert money.answers(cancelled) == [PostingAnswer.DONE]
    answers = money.answers(*map(money.settle, payments))
    assert [place for place, answer in enumerate(answers) if answer is not PostingAnswer.DONE] == [17]
    assert answers[17] is PostingAnswer.STALE
    assert money.balances("alice", "bob") == [(610, 0), (390, 0)]
    assert len(money.journal("bob")) == 39


def test_one_that_lacks_money_spoils_none_of_those_it_is_written_with(money: Money) -> None:
    money.accounts(alice=100, bob=0, carol=5)
    payments = [money.registered("alice", "bob", 10) for _ in range(10)]
    poor = money.registered("carol", "bob", 6, funding=Funding.AT_EXECUTION)
    answers = money.answers(*map(money.settle, [*payments[:4], poor, *payments[4:]]))
    assert answers == [PostingAnswer.DONE] * 4 + [PostingAnswer.SHORT] + [PostingAnswer.DONE] * 6
    assert money.balances("alice", "bob", "carol") == [(0, 0), (100, 0), (5, 0)]


def test_money_goes_round_within_one_instant(money: Money) -> None:
    money.accounts(alice=50, bob=0, carol=0)
    round_trip = [
        money.registered(payer, payee, 50, funding=Funding.AT_EXECUTION)
        for payer, payee in (("alice", "bob"), ("bob", "carol"), ("carol", "alice"))
    ]
    answers = money.answers(*map(money.settle, round_trip))
    assert money.balances("alice", "bob", "carol") in ([(50, 0), (0, 0), (0, 0)], [(0, 0), (50, 0), (0, 0)])
    assert answers[0] is PostingAnswer.DONE


def test_the_hold_follows_the_amount(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    payment = money.registered("alice", "bob", 30)
    more = steps.edit(payment, now=money.now - MINUTE / 2, amount=100, why="changed amount")
    assert money.answers(more) == [PostingAnswer.DONE]
    assert more.after is not None
    assert money.balances("alice") == [(0, 100)]
    too_much = steps.edit(more.after, now=money.now - MINUTE / 2, amount=101, why="changed amount")
    assert money.answers(too_much) == [PostingAnswer.SHORT]
    less = steps.edit(more.after, now=money.now - MINUTE / 2, amount=1, why="changed amount")
    assert money.answers(less) == [PostingAnswer.DONE]
    assert money.balances("alice") == [(99, 1)]


def test_an_attempt_that_did_not_get_through_leaves_the_hold(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    payment = money.registered("alice", "bob", 30)
    stumbled = settlement.stumble(payment, now=money.now, why="throttled", retry=RetryPolicy(), draw=0.5)
    assert money.answers(stumbled) == [PostingAnswer.DONE]
    assert money.balances("alice") == [(70, 30)]
    assert stumbled.after is not None
    assert money.ledger.payment(payment.id) == stumbled.after
    assert stumbled.after.state is State.EXECUTING
    settled = settlement.settle(stumbled.after, now=money.now + MINUTE)
    assert money.answers(settled) == [PostingAnswer.DONE]
    assert money.ledger.payment(payment.id) == settled.after


def test_an_account_is_opened_once_and_keeps_its_limits(money: Money) -> None:
    limits = Limits(amount_min=2, amount_max=500, delay_min=timedelta(seconds=60))
    account = Account(
        id="dora", tenant=money.tenant, created_at=money.now, updated_at=money.now, limits=limits
    )
    assert money.ledger.open(account)
    assert not money.ledger.open(replace(account, limits=Limits()))
    assert money.ledger.account(money.tenant, "dora") == account
    assert money.ledger.account(money.tenant, "dor") is None
    assert money.ledger.account("other", "dora") is None


def test_a_hundred_accounts_are_opened_at_once_and_those_that_are_there_stay_as_they_are(
    money: Money,
) -> None:
    money.accounts(**{"n-007": 5, "n-099": 0})
    named = [f"n-{number:03}" for number in range(100)]
    asked = [
        Account(
            id=id,
            tenant=money.tenant,
            created_at=money.now,
            updated_at=money.now,
            limits=Limits(amount_max=9),
        )
        for id in named
    ]
    assert money.ledger.open_all(asked) == set(named) - {"n-007", "n-099"}
    assert money.ledger.open_all(asked) == set()
    assert money.balances("n-007", "n-008") == [(5, 0), (0, 0)]
    kept = money.ledger.accounts(money.tenant, named)
    assert [id for id in named if kept[id].limits == Limits()] == ["n-007", "n-099"]


def test_accounts_are_listed_by_how_their_names_begin(money: Money) -> None:
    money.accounts(**dict.fromkeys(("rent", "rent:2026", "rent:2027", "rentals", "a", "z"), 0))

    def listed(prefix: str, after: str = "", limit: int = 10) -> list[str]:
        return money.ledger.accounts_listed(money.tenant, after=after, limit=limit, prefix=prefix)

    assert listed("") == ["a", "rent", "rent:2026", "rent:2027", "rentals", "z"]
    assert listed("rent") == ["rent", "rent:2026", "rent:2027", "rentals"]
    assert listed("rent:") == ["rent:2026", "rent:2027"]
    assert listed("rent", limit=2) == ["rent", "rent:2026"]
    assert listed("rent", after="rent:2026") == ["rent:2027", "rentals"]
    assert listed("rent", after="a") == listed("rent")
    for after in ("z", "rentals", "\u00fc", "\x7f"):
        assert listed("rent", after=after) == []
    assert listed("rents") == []


def test_a_deposit_keeps_its_note(money: Money) -> None:
    money.accounts(alice=0)
    plain = money.deposit("alice", 5)
    noted = money.deposit("alice", 6)
    assert noted.movement is not None
    note = {"reference": "bank-1", "description": "Größe", "metadata": (("a", ""), ("b", "x" * 500))}
    noted = replace(noted, movement=replace(noted.movement, **note))
    assert money.answers(plain, noted) == [PostingAnswer.DONE] * 2
    assert money.journal("alice") == [plain.movement, noted.movement]


def test_a_status_that_an_account_has_already_is_no_change(money: Money) -> None:
    money.accounts(alice=0)
    assert money.ledger.set_status(money.tenant, "nobody", Status.FROZEN, now=money.now) is None
    unchanged = money.ledger.account(money.tenant, "alice")
    assert unchanged is not None
    other = unchanged.version + 1
    assert unchanged == money.ledger.set_status(
        money.tenant, "alice", Status.FROZEN, now=money.now, version=other
    )
    first = money.ledger.set_status(
        money.tenant, "alice", Status.FROZEN, now=money.now, version=unchanged.version
    )
    assert first is not None
    assert (first.status, first.version) == (Status.FROZEN, 2)
    assert money.ledger.set_status(money.tenant, "alice", Status.FROZEN, now=money.now + MINUTE) == first


def test_an_account_is_closed_only_while_it_has_nothing_and_holds_nothing(money: Money) -> None:
    money.accounts(alice=10, bob=0)
    payment = money.registered("alice", "bob", 10)
    assert money.balances("alice") == [(0, 10)]
    close = partial(money.ledger.close, money.tenant)
    assert close("nobody", now=money.now) is None
    for name in ("alice", "bob"):
        kept = money.ledger.account(money.tenant, name)
        assert kept is not None
        assert close(name, now=money.now, version=kept.version + 1) == kept
    assert close("alice", now=money.now) == money.ledger.account(money.tenant, "alice")
    assert money.answers(money.settle(payment)) == [PostingAnswer.DONE]
    assert close("bob", now=money.now) == money.ledger.account(money.tenant, "bob")
    closed = close("alice", now=money.now, version=4)
    assert closed is not None
    assert (closed.status, closed.version, closed.updated_at) == (Status.CLOSED, 5, money.now)
    assert close("alice", now=money.now + MINUTE, version=4) == closed
    for status in (Status.FROZEN, Status.ACTIVE):
        assert money.ledger.set_status(money.tenant, "alice", status, now=money.now) == closed
    assert money.ledger.set_limits(closed, Limits(amount_max=5), now=money.now) == closed


def test_a_closed_account_takes_nothing_and_spoils_no_posting_beside_it(money: Money) -> None:
    money.accounts(alice=100, bob=0, carol=0)
    to_carol, to_bob = money.registered("alice", "carol", 30), money.registered("alice", "bob", 20)
    assert money.ledger.close(money.tenant, "carol", now=money.now)
    refused = Posted(answer=PostingAnswer.CLOSED, account="carol")
    done = Posted(answer=PostingAnswer.DONE)
    assert money.ledger.post([money.settle(to_carol), money.settle(to_bob)]) == [refused, done]
    assert money.ledger.post([money.deposit("carol", 1)]) == [refused]
    assert money.ledger.post([money.payment("carol", "bob", 1)]) == [refused]
    deposit = money.deposit("carol", 1)
    by_hand = replace(deposit, legs=(Leg(account="carol", available=1, needs_active=False),))
    assert money.ledger.post([by_hand]) == [refused]
    assert money.balances("alice", "bob", "carol") == [(50, 30), (20, 0), (0, 0)]
    failed = settlement.fail(to_carol, now=money.now, code="account_closed", why="carol is closed")
    assert money.answers(failed) == [PostingAnswer.DONE]


def test_a_closed_account_is_set_right_at_its_version_and_emptied(money: Money) -> None:
    money.accounts(alice=0, bob=9)
    payment = money.registered("bob", "alice", 9)
    closed = money.ledger.close(money.tenant, "alice", now=money.now)
    assert closed is not None
    leg = Leg(account="alice", available=5, needs_active=False, at_version=closed.version)
    assert money.answers(Posting(tenant=money.tenant, at=money.now, legs=(leg,))) == [PostingAnswer.DONE]
    out = Leg(account="alice", available=-5, needs_active=False)
    emptied = Posting(tenant=money.tenant, at=money.now, legs=(out,))
    assert money.answers(emptied, money.settle(payment)) == [PostingAnswer.DONE, PostingAnswer.CLOSED]
    assert money.balances("alice", "bob") == [(0, 0), (0, 9)]


def test_limits_change_while_payments_do_and_not_over_other_limits(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    before = money.ledger.account(money.tenant, "alice")
    assert before is not None
    money.registered("alice", "bob", 10)
    wide = Limits(amount_min=2, amount_max=3_000_000, delay_min=MINUTE)
    changed = money.ledger.set_limits(before, wide, now=money.now)
    assert changed == money.ledger.account(money.tenant, "alice")
    assert changed is not None
    assert (changed.limits, changed.reserved, changed.version) == (wide, 10, before.version + 2)
    assert money.ledger.set_limits(before, Limits(amount_max=5), now=money.now) == changed
    assert money.ledger.set_limits(changed, Limits(), now=money.now, version=changed.version + 1) == changed
    usual = money.ledger.set_limits(changed, Limits(), now=money.now, version=changed.version)
    assert usual is not None
    assert (usual.limits, usual.version) == (Limits(), changed.version + 1)
    assert money.ledger.set_limits(replace(usual, id="nobody"), wide, now=money.now) is None


def test_every_change_of_an_account_counts_its_version_on(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    money.registered("alice", "bob", 30)
    account = money.ledger.account(money.tenant, "alice")
    assert account is not None
    assert (account.version, account.updated_at) == (3, money.now - MINUTE)


def test_a_repeated_deposit_is_known_even_where_it_would_be_refused_now(money: Money) -> None:
    money.accounts(alice=10)
    deposit = money.deposit("alice", 5)
    assert money.answers(deposit) == [PostingAnswer.DONE]
    money.ledger.set_status(money.tenant, "alice", Status.FROZEN, now=money.now)
    again = replace(deposit, at=money.now)
    assert money.answers(again)[0] in (PostingAnswer.STALE, PostingAnswer.DONE)
    assert money.balances("alice") == [(15, 0)]


def test_an_adjustment_takes_no_more_than_a_frozen_account_has(money: Money) -> None:
    money.accounts(alice=10)
    money.ledger.set_status(money.tenant, "alice", Status.FROZEN, now=money.now)
    taken = money.deposit("alice", 5)
    assert taken.movement is not None
    by_hand = replace(
        taken,
        legs=(Leg(account="alice", available=-11, needs_active=False),),
        movement=replace(taken.movement, payer="alice", payee=None, amount=11),
    )
    assert money.ledger.post([by_hand]) == [Posted(answer=PostingAnswer.SHORT, account="alice")]
    assert money.balances("alice") == [(10, 0)]


def test_a_change_of_an_account_at_a_version_is_refused_at_any_other(money: Money) -> None:
    money.accounts(alice=100)
    account = money.ledger.account(money.tenant, "alice")
    assert account is not None
    leg = Leg(account="alice", available=5, needs_active=False, at_version=account.version)
    posting = Posting(tenant=money.tenant, at=money.now, legs=(leg,))
    assert money.answers(posting) == [PostingAnswer.DONE]
    assert money.answers(posting) == [PostingAnswer.STALE]
    assert money.balances("alice") == [(105, 0)]
