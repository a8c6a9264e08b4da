from dataclasses import replace

import pytest

from postdate.domain import settlement
from postdate.domain.errors import BooksDisagree, InvalidState, NotFound, Unauthenticated, Unavailable
from postdate.domain.payment import State
from postdate.domain.retry import RetryPolicy
from postdate.stores.key_text import bearer_text
from tests.unit.api.payments.conftest import ANYBODY, FAR
from tests.unit.doubles import MINUTE, SECOND, START, a_task


def test_a_key_for_internal_calls_is_let_in(bank):
    bank.executor.admit(bearer_text("in", "secret"))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "in",
        "secret",
        "pd_in_",
        "pd_in_Secret",
        "pd_out_secret",
        "pd_nobody_secret",
        "Bearer pd_in_secret",
    ],
)
def test_nobody_else_is(bank, token):
    with pytest.raises(Unauthenticated):
        bank.executor.admit(token)


def test_an_expired_key_is_not_let_in(bank):
    bank.keys.put(replace(bank.keys.get("in"), expires_at=START + SECOND))
    bank.executor.admit("pd_in_secret")
    bank.clock.move(SECOND)
    with pytest.raises(Unauthenticated):
        bank.executor.admit("pd_in_secret")


class TestExecuting:
    def due(self, bank, **fields):
        payment = bank.registered(**fields)
        bank.clock.sleep_until(payment.due_at)
        return payment

    def test_a_payment_that_is_due_is_settled_under_the_name_that_was_given(self, bank):
        payment = self.due(bank)
        told = bank.executor.execute(payment.id, "run-1")
        assert told == {"success": True, "execution_id": "run-1", "status": "COMPLETED"}
        assert (bank.money("payer"), bank.money("payee")) == ((900, 0), (100, 0))

    def test_a_repeat_tells_who_settled_it_and_moves_nothing(self, bank):
        payment = self.due(bank)
        first = bank.executor.execute(payment.id, "run-1")
        before = bank.ledger.state
        assert bank.executor.execute(payment.id, "run-2") == first
        assert bank.ledger.state == before

    def test_one_that_another_settles_at_the_same_time_is_told_as_his(self, bank):
        payment = self.due(bank)
        bank.ledger.before["post"].append(lambda: bank.executor.execute(payment.id, "run-1"))
        assert bank.executor.execute(payment.id, "run-2")["execution_id"] == "run-1"
        assert (bank.money("payer"), bank.money("payee")) == ((900, 0), (100, 0))

    def test_before_it_is_due_nothing_happens(self, bank):
        payment = bank.registered()
        bank.clock.sleep_until(FAR - SECOND / 1000)
        with pytest.raises(InvalidState) as refused:
            bank.executor.execute(payment.id, "run-1")
        assert refused.value.state == State.PENDING
        assert bank.stored(payment.id) == payment

    def test_one_that_cannot_be_settled_fails(self, bank):
        payment = self.due(bank)
        bank.freeze("payee")
        told = {"success": False, "execution_id": "run-1", "status": "FAILED", "error_code": "account_frozen"}
        assert bank.executor.execute(payment.id, "run-1") == told
        assert bank.executor.execute(payment.id, "run-2") == told
        assert bank.money("payer") == (1000, 0)

    def test_one_that_is_cancelled_stays_so(self, bank):
        payment = self.due(bank)
        bank.changer.cancel(ANYBODY, payment.id, version=None)
        with pytest.raises(InvalidState) as refused:
            bank.executor.execute(payment.id, "run-1")
        assert refused.value.state == State.CANCELLED

    def test_one_that_is_moved_at_the_same_time_waits(self, bank):
        payment = self.due(bank)
        bank.ledger.before["post"].append(
            lambda: bank.changer.edit(
                ANYBODY,
                payment.id,
                version=None,
                due_at=FAR + 5 * MINUTE,
                amount=None,
                instant_field="scheduled_time",
            )
        )
        with pytest.raises(InvalidState):
            bank.executor.execute(payment.id, "run-1")
        assert bank.stored(payment.id).state is State.PENDING

    def test_one_that_waits_for_a_person_can_be_executed(self, bank):
        payment = self.due(bank)
        retry = RetryPolicy(max_attempts=1)
        bank.ledger.post([settlement.stumble(payment, now=FAR, why="conflict", retry=retry, draw=0.0)])
        assert bank.executor.execute(payment.id, "run-1")["success"]

    def test_one_whose_hold_is_gone_is_told_with_the_audit_and_the_repair(self, bank):
        payment = self.due(bank)
        bank.lose_hold("payer")
        before = bank.ledger.state
        with pytest.raises(BooksDisagree) as refused:
            bank.executor.execute(payment.id, "run-1")
        for named in ("payer", "GET /api/v1/audit", "POST /api/v1/accounts/payer/adjustments", "to_journal"):
            assert named in str(refused.value)
        assert bank.ledger.state == before

    def test_one_that_the_journal_says_has_moved_is_told_as_that(self, bank):
        payment = self.due(bank)
        settled = settlement.settle(payment, now=bank.clock.now())
        lone = replace(settled, before=None, after=None, legs=())
        bank.ledger.post([lone])
        with pytest.raises(BooksDisagree, match="audit"):
            bank.executor.execute(payment.id, "run-1")
        assert bank.stored(payment.id).state is State.PENDING

    @pytest.mark.parametrize("id", ["pay_0000000000000000000000zz", "no id", a_task().id])
    def test_one_that_never_was_is_not_found(self, bank, id):
        with pytest.raises(NotFound):
            bank.executor.execute(id, "run-1")

    def test_a_ledger_that_does_not_answer_is_told_as_that(self, bank):
        payment = self.due(bank)
        bank.ledger.unavailable = 100
        with pytest.raises(Unavailable):
            bank.executor.execute(payment.id, "run-1")
        assert bank.stored(payment.id) == payment
