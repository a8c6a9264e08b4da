"""Accounts are opened; money comes in and is set right; the journal tells of it."""

import pytest

from functions.api.accounts import journal
from functions.api.accounts.deposit import DepositOrder
from functions.api.accounts.listing import AccountQuery
from functions.api.accounts.listing import page as accounts_page
from functions.api.accounts.open import Opened, open_accounts
from postdate.domain import settlement
from postdate.domain.account import Limits
from postdate.domain.errors import (
    AccountFrozen,
    IdempotencyKeyReused,
    InsufficientFunds,
    InvalidState,
    LimitExceeded,
    NotFound,
    PostdateError,
    Unavailable,
    ValidationFailed,
)
from postdate.domain.movement import Type, payment_movement_id
from postdate.stores.ledger import PostingAnswer
from tests.unit.doubles import MINUTE, SECOND, START

HOUR = 60 * MINUTE


def opened(bank, id, limits=None, *, tenant="demo"):
    (answer,) = opened_all(bank, (id, limits or Limits()), tenant=tenant)
    if isinstance(answer, PostdateError):
        raise answer
    return answer


def opened_all(bank, *asked, tenant="demo"):
    return open_accounts(tenant, asked, amount_cap=5_000_000, ledger=bank.ledger, clock=bank.clock)


def moved(
    bank, amount, *, account="third", type=Type.DEPOSIT, key="k", tenant="demo", reason=None, note=None
):
    order = DepositOrder(
        type=type,
        account=account,
        amount=amount,
        reason=reason,
        note=note or {},
        idempotency_key=key,
        fingerprint=f"{account} {amount} {reason}",
    )
    return bank.cashier.move(tenant, order)


def adjusted(bank, amount, **fields):
    return moved(bank, amount, type=Type.ADJUSTMENT, reason="counted", **fields)


class TestOpening:
    def test_an_account_begins_with_nothing(self, bank):
        answer = opened(bank, "new", Limits(amount_max=5))
        assert not answer.replayed
        assert answer.account == bank.ledger.account("demo", "new")
        assert (answer.account.balance, answer.account.limits.amount_max) == (0, 5)

    def test_opening_it_again_in_the_same_way_is_no_error_and_takes_nothing_away(self, bank):
        answer = opened(bank, "payer")
        assert (answer.replayed, answer.account.balance) == (True, 1000)

    def test_opening_it_with_other_limits_is_refused(self, bank):
        with pytest.raises(InvalidState) as refused:
            opened(bank, "payer", Limits(amount_max=5))
        assert refused.value.state == "ACTIVE"
        assert bank.ledger.account("demo", "payer").limits == Limits()

    def test_two_tenants_may_have_accounts_of_one_name(self, bank):
        assert opened(bank, "payer", tenant="other").account.balance == 0


class TestOpeningMany:
    def test_each_is_opened_or_refused_by_itself(self, bank):
        bank.freeze("third")
        wide, refusal = Limits(amount_max=5_000_001), ValidationFailed([("colour", "is not known")])
        asked = [
            *(("new", Limits()), ("payer", Limits()), refusal, ("payer", Limits(amount_max=5))),
            *(("wide", wide), ("new", Limits()), ("new", Limits(amount_max=5)), ("third", Limits())),
        ]
        answers = opened_all(bank, *asked)
        assert answers[2] is refusal
        told = [
            (each.replayed, each.account.status.value) if isinstance(each, Opened) else type(each)
            for each in answers
        ]
        assert told == [
            *((False, "ACTIVE"), (True, "ACTIVE"), ValidationFailed, InvalidState),
            *(LimitExceeded, (True, "ACTIVE"), InvalidState, (True, "FROZEN")),
        ]
        assert bank.ledger.account("demo", "wide") is None

    def test_nothing_but_refusals_asks_no_table(self, bank):
        bank.ledger.before["accounts"].append(lambda: pytest.fail("asked"))
        assert len(opened_all(bank, NotFound(), ("wide", Limits(amount_max=5_000_001)))) == 2


class TestListing:
    @pytest.mark.parametrize(
        ("asked", "ids"),
        [
            ({}, ["payee", "payer", "rent:1", "rent:2", "third"]),
            ({"status": "FROZEN"}, ["payee", "rent:2"]),
            ({"status": "CLOSED"}, []),
            ({"prefix": "pay"}, ["payee", "payer"]),
            ({"prefix": "rent:", "status": "ACTIVE"}, ["rent:1"]),
            ({"prefix": "third4"}, []),
        ],
    )
    @pytest.mark.parametrize("limit", [1, 2, 100])
    def test_pages_show_what_the_filters_name_and_nothing_twice(self, bank, asked, ids, limit):
        for id in ("rent:1", "rent:2"):
            opened(bank, id)
        opened(bank, "rent:3", tenant="other")
        for id in ("payee", "rent:2"):
            bank.freeze(id)
        found, cursor = [], {}
        while cursor is not None:
            query = AccountQuery.of("demo", {**asked, **cursor, "limit": str(limit)})
            page = accounts_page(query, bank.ledger, clock=bank.clock)
            found += [account.id for account in page.items]
            cursor = None if page.cursor is None else {"cursor": page.cursor}
        assert found == ids

    @pytest.mark.parametrize(
        "asked",
        [{"status": "active"}, {"prefix": ""}, {"prefix": "a b"}, {"prefix": "a" * 65}, {"colour": "1"}],
    )
    def test_a_wrong_filter_is_refused_by_its_name(self, bank, asked):
        with pytest.raises(ValidationFailed) as refused:
            AccountQuery.of("demo", asked)
        assert [name for name, _ in refused.value.fields] == list(asked)

    def test_a_cursor_belongs_to_its_filters(self, bank):
        page = accounts_page(AccountQuery.of("demo", {"limit": "1"}), bank.ledger, clock=bank.clock)
        with pytest.raises(ValidationFailed):
            AccountQuery.of("demo", {"cursor": page.cursor, "prefix": "pay"})


class TestDeposits:
    def test_a_deposit_and_its_repetition_keep_the_note(self, bank):
        note = {"reference": "bank-1", "description": "rent", "metadata": (("month", "11"),)}
        first = moved(bank, 500, note=note).movement
        assert (first.reference, first.description, first.metadata) == tuple(note.values())
        assert moved(bank, 500, note=note).movement == first
        assert journalled(bank) == ([first], None)

    def test_a_deposit_is_available_and_in_the_journal(self, bank):
        movement = moved(bank, 500).movement
        assert bank.money("third") == (500, 0)
        assert journalled(bank) == ([movement], None)
        assert (movement.type, movement.payer, movement.payee, movement.amount) == (
            Type.DEPOSIT,
            None,
            "third",
            500,
        )

    def test_a_deposit_sent_twice_is_made_once_and_answered_alike(self, bank):
        first = moved(bank, 500)
        bank.clock.move(5 * SECOND)
        bank.freeze("third")
        again = moved(bank, 500)
        assert (first.replayed, again.replayed) == (False, True)
        assert again.movement == first.movement
        assert bank.money("third") == (500, 0)

    def test_a_crash_between_key_and_deposit_is_repaired_by_the_callers_retry(self, bank):
        def crash():
            raise KeyboardInterrupt

        bank.ledger.before["post"].append(crash)
        with pytest.raises(KeyboardInterrupt):
            moved(bank, 500)
        assert bank.money("third") == (0, 0)
        bank.clock.move(5 * SECOND)
        assert moved(bank, 500).movement.at == START
        assert bank.money("third") == (500, 0)

    def test_a_deposit_that_is_made_late_changes_the_account_when_it_is_made(self, bank):
        bank.ledger.unavailable = 1
        with pytest.raises(Unavailable):
            moved(bank, 500)
        asked_at = bank.clock.now()
        bank.clock.move(20 * MINUTE)
        movement = moved(bank, 500).movement
        assert movement.at == asked_at
        assert bank.ledger.account("demo", "third").updated_at == bank.clock.now()

    @pytest.mark.parametrize(("amount", "account"), [(501, "third"), (500, "payee")])
    def test_a_key_stands_for_one_deposit(self, bank, amount, account):
        moved(bank, 500)
        before = bank.ledger.state
        with pytest.raises(IdempotencyKeyReused):
            moved(bank, amount, account=account)
        assert bank.ledger.state == before

    def test_keys_of_payments_deposits_and_adjustments_are_apart(self, bank):
        moved(bank, 500)
        assert not adjusted(bank, 500).replayed
        assert not bank.register(idempotency_key="k").replayed
        assert bank.reservations.find("demo", "deposit k").keep_until is None

    def test_a_frozen_account_gets_no_deposit(self, bank):
        bank.freeze("third")
        before = bank.ledger.state
        with pytest.raises(AccountFrozen):
            moved(bank, 500)
        assert bank.ledger.state == before

    @pytest.mark.parametrize("account", ["nobody", "theirs", "a b", "a" * 5000])
    def test_an_unknown_account_gets_none_and_no_key_is_taken(self, bank, account):
        bank.open("theirs", tenant="other")
        with pytest.raises(NotFound):
            moved(bank, 500, account=account)
        assert bank.reservations.find("demo", "deposit k") is None

    def test_a_ledger_that_does_not_answer_is_told_as_that(self, bank):
        bank.ledger.unavailable = 1
        with pytest.raises(Unavailable):
            moved(bank, 500)


class TestAdjustments:
    @pytest.mark.parametrize(("amount", "left"), [(5, 1005), (-5, 995), (-1000, 0)])
    def test_a_balance_is_set_right(self, bank, amount, left):
        movement = adjusted(bank, amount, account="payer").movement
        assert bank.money("payer") == (left, 0)
        assert (movement.effect_on("payer"), movement.reason) == (amount, "counted")

    def test_a_balance_does_not_fall_below_nothing(self, bank):
        bank.registered(amount=300)
        before = bank.ledger.state
        with pytest.raises(InsufficientFunds):
            adjusted(bank, -701, account="payer")
        assert bank.ledger.state == before

    def test_a_frozen_account_is_set_right_as_any_other(self, bank):
        bank.freeze("payer")
        adjusted(bank, -5, account="payer")
        assert bank.money("payer") == (995, 0)


def journalled(bank, account="third", **asked):
    page = journal.page("demo", account, asked, bank.ledger)
    return page.movements, page.cursor


class TestJournal:
    def test_pages_show_every_movement_once_and_in_order(self, bank):
        made = []
        for number in range(45):
            bank.clock.move(SECOND)
            made.append(moved(bank, number + 1, key=f"k{number}").movement)
        found, cursor, pages = [], None, 0
        while cursor is not None or not pages:
            asked = {"limit": "20"} | ({} if cursor is None else {"cursor": cursor})
            movements, cursor = journalled(bank, **asked)
            found += movements
            pages += 1
        assert (found, pages) == (made, 3)

    def test_both_sides_of_a_payment_see_it(self, bank):
        payment = bank.registered(amount=300)
        bank.settle(payment)
        for account in ("payer", "payee"):
            ((movement,), _) = journalled(bank, account)
            assert (movement.payment_id, movement.amount) == (payment.id, 300)
        assert journalled(bank) == ([], None)

    def test_a_follower_of_the_journal_goes_on_behind_the_last_page(self, bank):
        page = journal.page("demo", "third", {}, bank.ledger)
        assert (page.movements, page.follow) == ([], None)
        made, seen, asked = [], [], {}
        for number in range(5):
            made.append(moved(bank, number + 1, key=f"k{number}").movement)
            page = journal.page("demo", "third", asked, bank.ledger)
            assert page.cursor is None
            seen += page.movements
            asked = {"cursor": page.follow}
            again = journal.page("demo", "third", asked, bank.ledger)
            assert (again.movements, again.follow) == ([], page.follow)
        assert seen == made

    def test_a_late_payment_stands_where_it_was_written(self, bank):
        late = bank.registered(amount=1, due_at=bank.clock.now() + MINUTE)
        bank.clock.move(HOUR)
        deposit = moved(bank, 5, account="payer").movement
        bank.clock.move(SECOND)
        bank.settle(late)
        found, _ = journalled(bank, "payer")
        assert [each.id for each in found[-2:]] == [deposit.id, payment_movement_id(late.id)]

    def test_a_commit_that_was_decided_before_the_page_stands_behind_it(self, bank):
        """The commit's worker was paused between decision and commit."""
        payment = bank.registered(amount=1)
        bank.clock.move(HOUR * 24 * 40)
        decided = settlement.settle(bank.stored(payment.id), now=bank.clock.now() - MINUTE)
        deposit = moved(bank, 5, account="payer").movement
        page = journal.page("demo", "payer", {}, bank.ledger)
        assert page.movements[-1] == deposit
        assert [posted.answer for posted in bank.ledger.post([decided])] == [PostingAnswer.DONE]
        later = journal.page("demo", "payer", {"cursor": page.follow}, bank.ledger)
        assert [each.payment_id for each in later.movements] == [payment.id]

    def test_the_journal_since_an_instant_has_the_movements_from_then_on(self, bank):
        first = moved(bank, 1, key="k1").movement
        bank.clock.move(SECOND)
        second = moved(bank, 2, key="k2").movement
        for since, found in ((first.at, [first, second]), (second.at, [second]), (second.at + SECOND, [])):
            assert journalled(bank, since=since.isoformat())[0] == found

    def test_another_tenant_sees_nothing(self, bank):
        moved(bank, 500)
        with pytest.raises(NotFound):
            journal.page("other", "third", {}, bank.ledger)

    @pytest.mark.parametrize("parameter", ["limit", "cursor", "status", "since"])
    def test_a_wrong_parameter_is_refused_by_its_name(self, bank, parameter):
        with pytest.raises(ValidationFailed) as refused:
            journal.page("demo", "third", {parameter: "x"}, bank.ledger)
        assert refused.value.fields[0][0] == parameter

    def test_a_cursor_of_another_account_is_refused(self, bank):
        for number in range(2):
            moved(bank, 5, key=f"k{number}")
        _, cursor = journalled(bank, limit="1")
        with pytest.raises(ValidationFailed, match="cursor"):
            journal.page("demo", "payer", {"cursor": cursor}, bank.ledger)
