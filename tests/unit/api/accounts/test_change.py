"""An administrator changes an account's limits, freezes it and closes it."""

from dataclasses import replace

import pytest

from functions.api.accounts.change import AccountChanger
from postdate.domain.account import Limits, Status
from postdate.domain.errors import (
    Conflict,
    InvalidState,
    LimitExceeded,
    NotFound,
    ValidationFailed,
    VersionMismatch,
)
from postdate.domain.payment import Funding, State
from tests.unit.api.accounts.test_money import adjusted, moved, opened
from tests.unit.api.payments.conftest import ANYBODY
from tests.unit.doubles import SECOND

CAP = 5_000_000


@pytest.fixture
def changer(bank):
    return AccountChanger(ledger=bank.ledger, clock=bank.clock, amount_cap=CAP)


def limited(changer, id="payer", version=None, **given):
    return changer.limit("demo", id, given, version=version)


def closed(changer, id="third", version=None):
    return changer.close("demo", id, version=version)


def edited(bank, payment, *, amount):
    return bank.changer.edit(
        ANYBODY, payment.id, version=None, due_at=None, amount=amount, instant_field="scheduled_time"
    )


def race(bank, monkeypatch, name, meanwhile):
    """`meanwhile` happens just before the first write of that name."""
    write, left = getattr(bank.ledger, name), [meanwhile]

    def racing(*given, **named):
        while left:
            left.pop()()
        return write(*given, **named)

    monkeypatch.setattr(bank.ledger, name, racing)


class TestLimits:
    def test_they_are_raised_above_the_default_and_what_is_left_out_stays(self, bank, changer):
        limited(changer, amount_min=2)
        account = limited(changer, amount_max=CAP)
        assert account == bank.ledger.account("demo", "payer")
        assert account.limits == Limits(amount_min=2, amount_max=CAP)
        assert bank.money("payer") == (1000, 0)

    def test_a_payment_above_the_default_is_taken_then_and_not_before(self, bank, changer):
        bank.give("payer", 3_000_000)
        with pytest.raises(LimitExceeded):
            edited(bank, bank.registered(amount=1), amount=1_000_001)
        with pytest.raises(LimitExceeded):
            bank.registered(amount=1_000_001)
        limited(changer, amount_max=CAP)
        assert bank.registered(amount=1_000_001).amount == 1_000_001
        assert edited(bank, bank.registered(amount=1), amount=1_000_002).amount == 1_000_002

    def test_nobody_gets_more_than_the_environment_allows(self, bank, changer):
        with pytest.raises(LimitExceeded) as refused:
            limited(changer, amount_max=CAP + 1)
        assert refused.value.fields == (("limits.amount_max", f"is at most {CAP} in this environment"),)
        assert bank.ledger.account("demo", "payer").version == 2

    def test_limits_that_contradict_those_that_stay_are_refused(self, changer):
        limited(changer, amount_min=100)
        with pytest.raises(ValidationFailed) as refused:
            limited(changer, amount_max=99)
        assert refused.value.fields == (("limits", "has an amount_min above its amount_max"),)

    def test_the_same_limits_are_no_change(self, changer):
        first = limited(changer, amount_max=7)
        assert limited(changer, amount_max=7, version=1) == first

    def test_another_version_is_refused(self, bank, changer):
        with pytest.raises(VersionMismatch):
            limited(changer, amount_max=7, version=1)
        assert limited(changer, amount_max=7, version=2).version == 3

    def test_payments_meanwhile_do_not_stand_in_the_way(self, bank, changer, monkeypatch):
        race(bank, monkeypatch, "set_limits", lambda: bank.registered(amount=10))
        account = limited(changer, amount_max=20)
        assert (account.limits.amount_max, account.reserved) == (20, 10)

    def test_payments_meanwhile_stand_in_the_way_of_a_version(self, bank, changer, monkeypatch):
        race(bank, monkeypatch, "set_limits", lambda: bank.registered(amount=10))
        with pytest.raises(VersionMismatch):
            limited(changer, amount_max=20, version=2)

    def test_another_administrators_limits_meanwhile_are_kept(self, bank, changer, monkeypatch):
        race(bank, monkeypatch, "set_limits", lambda: limited(changer, amount_min=30))
        with pytest.raises(ValidationFailed):
            limited(changer, amount_max=20)
        assert bank.ledger.account("demo", "payer").limits == Limits(amount_min=30)

    def test_a_writer_that_is_overtaken_again_and_again_gives_up(self, bank, changer, monkeypatch):
        def overtaken(account, limits, *, now, version):
            other = replace(account.limits, amount_min=account.limits.amount_min + 1)
            return replace(account, limits=other)

        monkeypatch.setattr(bank.ledger, "set_limits", overtaken)
        with pytest.raises(Conflict):
            limited(changer, amount_max=20)

    @pytest.mark.parametrize("id", ["nobody", "a b"])
    def test_an_unknown_account_has_none(self, changer, id):
        for change in (limited, closed):
            with pytest.raises(NotFound):
                change(changer, id)


class TestFreezing:
    def test_an_account_is_frozen_and_unfrozen_and_twice_is_no_change(self, changer):
        for status, version in ((Status.FROZEN, 2), (Status.ACTIVE, 3)):
            for _ in range(2):
                account = changer.set_status("demo", "third", status, version=None)
                assert (account.status, account.version) == (status, version)

    def test_another_version_is_refused_unless_there_is_nothing_to_change(self, bank, changer):
        for version in (0, 2):
            with pytest.raises(VersionMismatch):
                changer.set_status("demo", "third", Status.FROZEN, version=version)
        assert bank.ledger.account("demo", "third").status is Status.ACTIVE
        assert changer.set_status("demo", "third", Status.FROZEN, version=1).version == 2
        assert changer.set_status("demo", "third", Status.FROZEN, version=1).version == 2

    def test_of_a_freeze_by_version_and_another_change_at_once_the_change_wins(
        self, bank, changer, monkeypatch
    ):
        race(bank, monkeypatch, "set_status", lambda: bank.give("third", 5))
        with pytest.raises(VersionMismatch):
            changer.set_status("demo", "third", Status.FROZEN, version=1)
        assert bank.ledger.account("demo", "third").status is Status.ACTIVE


class TestClosing:
    def test_an_empty_account_is_closed_and_stays_readable(self, bank, changer):
        account = closed(changer)
        assert (account.status, account.version) == (Status.CLOSED, 2)
        assert bank.ledger.account("demo", "third") == account
        assert closed(changer, version=1) == account

    def test_a_frozen_account_can_be_closed(self, bank, changer):
        bank.freeze("third")
        assert closed(changer).status is Status.CLOSED

    def test_an_account_with_money_or_a_hold_stays_open(self, bank, changer):
        bank.registered(amount=1000)
        assert bank.money("payer") == (0, 1000)
        with pytest.raises(InvalidState) as refused:
            closed(changer, "payer")
        assert refused.value.state == "ACTIVE"
        assert bank.ledger.account("demo", "payer").status is Status.ACTIVE

    def test_of_a_close_and_money_that_arrives_at_once_the_money_wins(self, bank, changer, monkeypatch):
        race(bank, monkeypatch, "close", lambda: bank.give("third", 5))
        with pytest.raises(InvalidState):
            closed(changer)
        assert bank.ledger.account("demo", "third").status is Status.ACTIVE

    def test_another_version_is_refused(self, changer):
        with pytest.raises(VersionMismatch):
            closed(changer, version=2)

    @pytest.mark.parametrize("side", ["payer", "payee"])
    def test_a_closed_account_neither_pays_nor_is_paid(self, bank, changer, side):
        closed(changer)
        with pytest.raises(InvalidState) as refused:
            bank.registered(**{side: "third", "funding": Funding.AT_EXECUTION})
        assert (refused.value.state, str(refused.value)) == ("CLOSED", "the account third is closed")

    def test_a_payment_that_was_to_reach_it_fails_and_its_money_goes_back(self, bank, changer):
        payment = bank.registered(payee="third", amount=10)
        closed(changer)
        settled = bank.settle(payment)
        assert (settled.state, settled.error_code) == (State.FAILED, "account_closed")
        assert (bank.money("payer"), bank.money("third")) == ((1000, 0), (0, 0))

    def test_it_is_not_frozen_unfrozen_or_limited_any_more(self, bank, changer):
        account = closed(changer)
        for status in (Status.FROZEN, Status.ACTIVE):
            with pytest.raises(InvalidState):
                changer.set_status("demo", "third", status, version=None)
        with pytest.raises(InvalidState):
            limited(changer, "third", amount_max=7)
        assert bank.ledger.account("demo", "third") == account

    def test_it_is_not_opened_again(self, bank, changer):
        closed(changer)
        with pytest.raises(InvalidState) as refused:
            opened(bank, "third")
        assert refused.value.state == "CLOSED"

    def test_it_takes_no_deposit_and_no_adjustment(self, bank, changer):
        closed(changer)
        for move in (moved, adjusted):
            bank.clock.move(SECOND)
            with pytest.raises(InvalidState) as refused:
                move(bank, 5, account="third")
            assert refused.value.state == "CLOSED"
        assert bank.money("third") == (0, 0)
