from datetime import timedelta

import pytest

from functions.api.caller import Caller
from postdate.domain import settlement
from postdate.domain.account import Limits
from postdate.domain.due import Due, Via
from postdate.domain.errors import (
    AccountFrozen,
    BooksDisagree,
    Conflict,
    Forbidden,
    InsufficientFunds,
    InvalidState,
    LimitExceeded,
    NotFound,
    Unavailable,
    VersionMismatch,
)
from postdate.domain.payment import Funding, State
from postdate.domain.retry import RetryPolicy
from tests.unit.api.payments.conftest import ANYBODY, FAR
from tests.unit.doubles import MINUTE, SECOND, START, a_task

SOON = START + 30 * SECOND
OPERATOR = Caller(tenant="demo", key_id="o", scopes=frozenset({"payments:write", "ops"}))


def change(bank, payment, *, caller=ANYBODY, version=None, due_at=None, amount=None, **changes):
    return bank.changer.edit(
        caller,
        payment.id,
        version=version,
        due_at=due_at,
        amount=amount,
        instant_field="scheduled_time",
        **changes,
    )


def cancel(bank, payment, *, caller=ANYBODY, version=None):
    return bank.changer.cancel(caller, payment.id, version=version)


def executing(bank):
    payment = bank.registered()
    retry = RetryPolicy(max_attempts=1)
    bank.ledger.post([settlement.stumble(payment, now=FAR, why="conflict", retry=retry, draw=0.0)])
    return bank.stored(payment.id)


class TestCancelling:
    def test_a_cancel_returns_the_hold_once_and_a_second_cancel_answers_the_same(self, bank):
        payment = bank.registered()
        cancelled = cancel(bank, payment)
        assert (cancelled.state, cancelled.version, bank.money("payer")) == (State.CANCELLED, 2, (1000, 0))
        assert cancel(bank, payment, version=1) == cancelled
        assert bank.money("payer") == (1000, 0)

    def test_a_frozen_payer_gets_its_money_back(self, bank):
        payment = bank.registered()
        bank.freeze("payer")
        cancel(bank, payment)
        assert bank.money("payer") == (1000, 0)

    @pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED])
    def test_a_payment_that_has_ended_cannot_be_cancelled(self, bank, state):
        payment = bank.registered()
        if state is State.FAILED:
            bank.freeze("payee")
        ended = bank.settle(payment)
        before = bank.ledger.state
        with pytest.raises(InvalidState) as refused:
            cancel(bank, payment, caller=OPERATOR)
        assert (refused.value.state, ended.state) == (state, state)
        assert bank.ledger.state == before

    def test_only_an_operator_cancels_an_executing_payment(self, bank):
        payment = executing(bank)
        with pytest.raises(InvalidState) as refused:
            cancel(bank, payment)
        assert refused.value.state == State.EXECUTING
        assert cancel(bank, payment, caller=OPERATOR).state is State.CANCELLED
        assert bank.money("payer") == (1000, 0)

    @pytest.mark.parametrize("begun", [False, True])
    def test_a_hold_that_is_gone_is_told_with_the_audit_and_the_repair(self, bank, begun):
        payment = executing(bank) if begun else bank.registered()
        bank.lose_hold("payer")
        before = bank.ledger.state
        with pytest.raises(BooksDisagree) as refused:
            cancel(bank, payment, caller=OPERATOR)
        for named in ("payer", "GET /api/v1/audit", "POST /api/v1/accounts/payer/adjustments", "to_journal"):
            assert named in str(refused.value)
        assert bank.ledger.state == before

    def test_another_version_than_if_match_names_is_refused(self, bank):
        payment = bank.registered()
        with pytest.raises(VersionMismatch):
            cancel(bank, payment, version=2)
        assert cancel(bank, payment, version=1).state is State.CANCELLED

    def test_of_a_cancel_and_an_execution_at_once_one_wins(self, bank):
        payment = bank.registered()
        bank.ledger.before["post"].append(lambda: bank.settle(payment))
        with pytest.raises(InvalidState) as refused:
            cancel(bank, payment)
        assert refused.value.state == State.COMPLETED
        assert (bank.money("payer"), bank.money("payee")) == ((900, 0), (100, 0))

    def test_a_cancel_whose_answer_got_lost_is_answered(self, bank):
        payment = bank.registered()
        bank.ledger.unanswered = 1
        assert cancel(bank, payment, version=1).state is State.CANCELLED


@pytest.mark.parametrize("verb", ["load", "cancel", "edit"])
@pytest.mark.parametrize("id", ["theirs", "task", "pay_0000000000000000000000zz", "no id", "schedule"])
def test_another_tenants_payment_and_one_that_never_was_are_told_alike(bank, verb, id):
    payment = bank.registered()
    asked = {"theirs": payment.id, "task": a_task().id}.get(id, id)
    stranger = Caller(tenant="other", key_id="x", scopes=frozenset())
    edited = {"due_at": FAR, "amount": None, "instant_field": "scheduled_time"}
    given = {"load": {}, "cancel": {"version": None}, "edit": {"version": None, **edited}}[verb]
    with pytest.raises(NotFound):
        getattr(bank.changer, verb)("other" if verb == "load" else stranger, asked, **given)
    assert bank.stored(payment.id) == payment


@pytest.mark.parametrize("act", [cancel, lambda *a, **k: change(*a, amount=1, **k)], ids=["cancel", "edit"])
def test_a_key_that_is_bound_to_accounts_changes_payments_from_no_other(bank, act):
    payment = bank.registered()
    for accounts, error in [({"third"}, Forbidden), (set(), Forbidden), ({"payer"}, None)]:
        caller = Caller(tenant="demo", key_id="b", scopes=frozenset(), accounts=frozenset(accounts))
        if error is None:
            assert act(bank, payment, caller=caller).version == 2
        else:
            with pytest.raises(error, match="payer"):
                act(bank, payment, caller=caller)
            assert bank.stored(payment.id) == payment


class TestEditing:
    @pytest.mark.parametrize(("amount", "left"), [(400, (600, 400)), (50, (950, 50)), (1000, (0, 1000))])
    def test_the_hold_follows_the_amount(self, bank, amount, left):
        payment = bank.registered()
        edited = change(bank, payment, amount=amount)
        assert bank.stored(payment.id) == edited
        assert (edited.amount, edited.version, bank.money("payer")) == (amount, 2, left)

    def test_an_amount_cannot_grow_beyond_what_is_available(self, bank):
        payment = bank.registered()
        before = bank.ledger.state
        with pytest.raises(InsufficientFunds):
            change(bank, payment, amount=1001)
        assert bank.ledger.state == before
        bank.freeze("payer")
        with pytest.raises(AccountFrozen):
            change(bank, payment, amount=200)

    def test_an_amount_that_shrinks_below_a_hold_that_is_gone_is_told_as_that(self, bank):
        payment = bank.registered()
        bank.lose_hold("payer")
        with pytest.raises(BooksDisagree, match="payer"):
            change(bank, payment, amount=50)
        assert bank.stored(payment.id) == payment

    def test_an_amount_that_is_not_held_may_be_any(self, bank):
        payment = bank.registered(funding=Funding.AT_EXECUTION)
        assert change(bank, payment, amount=5000).amount == 5000
        assert bank.money("payer") == (1000, 0)

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"amount": 501}, "amount"),
            ({"amount": 9}, "amount"),
            ({"due_at": START + timedelta(days=3)}, "scheduled_time"),
            ({"due_at": START + 10 * SECOND}, "scheduled_time"),
        ],
    )
    def test_the_payers_limits_hold_for_changes_too(self, bank, changes, field):
        limits = Limits(
            amount_min=10, amount_max=500, delay_min=timedelta(minutes=1), delay_max=timedelta(days=2)
        )
        bank.open("narrow", limits=limits)
        bank.give("narrow", 1000)
        payment = bank.registered(payer="narrow")
        before = bank.ledger.state
        with pytest.raises(LimitExceeded) as refused:
            change(bank, payment, **changes)
        assert [name for name, _ in refused.value.fields] == [field]
        assert bank.ledger.state == before
        change(bank, payment, amount=500, due_at=START + timedelta(days=2))

    def test_a_description_is_changed_and_cleared(self, bank):
        payment = bank.registered(description="rent")
        assert change(bank, payment, description="food").description == "food"
        assert change(bank, payment, description=None).description is None

    def test_a_payment_that_is_moved_points_to_its_home_and_says_what_was_changed(self, bank):
        payment = bank.registered()
        moved = change(bank, payment, due_at=FAR + 5 * MINUTE, amount=5, description="x")
        assert (moved.planned_at, moved.due_at, moved.moved_at) == (FAR + 5 * MINUTE, FAR + 5 * MINUTE, START)
        assert moved.history[-1].why == "changed scheduled_time, amount, description"
        assert bank.ledger.posted[-1][0].points
        assert bank.queue.sent == []

    def test_a_payment_moved_into_the_horizon_is_called(self, bank):
        payment = change(bank, bank.registered(), due_at=SOON)
        ((packet, _),) = bank.queue.sent
        assert (packet.via, packet.dues) == (Via.REGISTRATION, (Due.of(payment),))

    def test_a_call_that_cannot_be_sent_does_not_undo_the_change(self, bank):
        payment = bank.registered()
        bank.queue.refuses = 1
        assert bank.stored(payment.id) == payment
        assert change(bank, payment, due_at=SOON) == bank.stored(payment.id)

    @pytest.mark.parametrize("state", [State.COMPLETED, State.CANCELLED, State.EXECUTING])
    def test_only_what_is_pending_can_be_changed(self, bank, state):
        match state:
            case State.EXECUTING:
                payment = executing(bank)
            case State.COMPLETED:
                payment = bank.settle(bank.registered())
            case _:
                payment = cancel(bank, bank.registered())
        with pytest.raises(InvalidState) as refused:
            change(bank, payment, amount=1)
        assert refused.value.state == state

    def test_another_version_than_if_match_names_is_refused(self, bank):
        payment = bank.registered()
        with pytest.raises(VersionMismatch):
            change(bank, payment, amount=5, version=2)
        assert change(bank, payment, amount=5, version=1).version == 2

    def test_the_slower_writer_decides_again(self, bank):
        payment = bank.registered()
        bank.ledger.before["post"].append(lambda: change(bank, payment, description="first"))
        assert change(bank, payment, amount=5).description == "first"
        assert bank.stored(payment.id).version == 3

    def test_the_slower_writer_that_named_a_version_is_refused(self, bank):
        payment = bank.registered()
        bank.ledger.before["post"].append(lambda: change(bank, payment, description="first"))
        with pytest.raises(VersionMismatch):
            change(bank, payment, amount=5, version=1)

    def test_a_change_whose_answer_got_lost_is_answered_and_made_once(self, bank):
        payment = bank.registered()
        bank.ledger.unanswered = 1
        assert change(bank, payment, amount=400, version=1).version == 2
        assert bank.money("payer") == (600, 400)

    def test_a_change_whose_answer_got_lost_is_answered_after_the_payment_was_settled(self, bank):
        """A refusal would give back what the key of the request may pay in a day."""
        payment = bank.registered()
        bank.ledger.unanswered = 1
        # The first read is the change's own. The settlement comes before the second one.
        bank.ledger.before["payment"] += [lambda: None, lambda: bank.settle(payment)]
        after = change(bank, payment, amount=400, version=1)
        assert (after.state, after.amount, bank.money("payee")) == (State.COMPLETED, 400, (400, 0))

    def test_a_writer_that_is_slower_again_and_again_is_told_to_come_back(self, bank):
        payment = bank.registered()
        descriptions = iter("abc")

        def the_other_is_faster():
            change(bank, payment, description=next(descriptions))

        for _ in range(3):
            bank.ledger.before["post"] += [the_other_is_faster, lambda: None]
        with pytest.raises(Conflict):
            change(bank, payment, amount=5)

    def test_a_ledger_that_does_not_answer_is_told_as_that(self, bank):
        payment = bank.registered()
        bank.ledger.unavailable = 1
        with pytest.raises(Unavailable):
            change(bank, payment, amount=5)
