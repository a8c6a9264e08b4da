from datetime import timedelta
from threading import Event

import pytest

from functions.api.payments.register import RegisteredPayment
from postdate.domain import instants
from postdate.domain.account import Limits
from postdate.domain.due import Due, Via
from postdate.domain.errors import (
    AccountFrozen,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InsufficientFunds,
    LimitExceeded,
    NotFound,
    PostdateError,
    Unavailable,
    ValidationFailed,
)
from postdate.domain.payment import Funding, State
from postdate.domain.slots import unique_part
from postdate.stores.idempotency import Reservation
from postdate.stores.ledger_memory import MemoryLedger
from tests.unit.api.conftest import order as task_order
from tests.unit.api.payments.conftest import ANYBODY, FAR, order
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, a_payment

SOON = START + 5 * SECOND


PAST = ValidationFailed([("scheduled_time", "is not in the future")])


def crash():
    raise KeyboardInterrupt


def unavailable(*_):
    raise Unavailable


def crashed(bank, **fields):
    bank.ledger.before["post"].append(crash)
    with pytest.raises(KeyboardInterrupt):
        bank.register(**fields)


def test_a_payment_is_stored_at_home_and_holds_its_amount(bank):
    payment = bank.registered(amount=300, description="rent", metadata=(("a", "b"),))
    assert bank.stored(payment.id) == payment
    assert (payment.tenant, payment.state, payment.due_at, payment.created_at) == (
        "demo",
        State.PENDING,
        FAR,
        START,
    )
    assert (payment.description, payment.metadata) == ("rent", (("a", "b"),))
    assert payment.home.minute == instants.minute_of(FAR)
    assert (bank.money("payer"), bank.money("payee")) == ((700, 300), (0, 0))


def test_a_payment_that_is_funded_at_its_instant_holds_nothing(bank):
    bank.registered(amount=5000, funding=Funding.AT_EXECUTION)
    assert bank.money("payer") == (1000, 0)


@pytest.mark.parametrize("ahead", [SECOND, 5 * SECOND, 3 * MINUTE - SECOND])
def test_a_payment_whose_minute_may_be_open_is_called_by_its_registrar(bank, ahead):
    payment = bank.registered(due_at=START + ahead)
    ((packet, delay),) = bank.queue.sent
    assert (packet.tenant, packet.via, packet.dues) == ("demo", Via.REGISTRATION, (Due.of(payment),))
    assert delay == ahead - SECOND


def test_a_payment_beyond_the_horizon_is_left_to_the_sweep(bank):
    bank.registered(due_at=START + 3 * MINUTE)
    assert bank.queue.sent == []


def test_a_call_that_cannot_be_sent_does_not_take_back_what_is_written(bank):
    bank.queue.refuses = 1
    payment = bank.registered(due_at=SOON)
    assert bank.stored(payment.id) == payment


class TestRefusals:
    """None of them writes anything to the ledger, and none sends a call."""

    def refused(self, bank, error, **fields):
        before = bank.ledger.state
        with pytest.raises(error) as refused:
            bank.register(due_at=fields.pop("due_at", SOON), **fields)
        assert bank.ledger.state == before
        assert bank.queue.sent == []
        return refused.value

    @pytest.mark.parametrize("side", ["payer", "payee"])
    @pytest.mark.parametrize("funding", Funding)
    def test_an_unknown_account_is_named(self, bank, side, funding):
        refusal = self.refused(bank, NotFound, funding=funding, **{side: "nobody"})
        assert "nobody" in str(refusal)

    @pytest.mark.parametrize("side", ["payer", "payee"])
    def test_another_tenants_account_is_unknown(self, bank, side):
        bank.open("theirs", tenant="other")
        bank.give("theirs", 1000, tenant="other")
        self.refused(bank, NotFound, **{side: "theirs"})

    @pytest.mark.parametrize("side", ["payer", "payee"])
    @pytest.mark.parametrize("funding", Funding)
    def test_a_frozen_account_is_named(self, bank, side, funding):
        bank.freeze(side)
        assert side in str(self.refused(bank, AccountFrozen, funding=funding))

    def test_an_account_gives_no_more_than_it_has(self, bank):
        self.refused(bank, InsufficientFunds, amount=1001)
        bank.register(amount=1000)

    @pytest.mark.parametrize(
        ("limits", "field"),
        [
            (Limits(amount_min=101), "amount"),
            (Limits(amount_max=99), "amount"),
            (Limits(delay_min=timedelta(seconds=10)), "scheduled_time"),
            (Limits(delay_max=timedelta(seconds=4)), "scheduled_time"),
        ],
    )
    def test_a_payment_outside_the_accounts_limits_names_the_field(self, bank, limits, field):
        bank.open("narrow", limits=limits)
        bank.give("narrow", 1000)
        refusal = self.refused(bank, LimitExceeded, payer="narrow")
        assert [name for name, _ in refusal.fields] == [field]

    def test_an_amount_above_the_limit_leaves_the_key_free_for_another_amount(self, bank):
        bank.open("narrow", limits=Limits(amount_max=5))
        bank.give("narrow", 5)
        with pytest.raises(LimitExceeded):
            bank.registered(payer="narrow", amount=6, idempotency_key="k", fingerprint="six")
        assert bank.registered(payer="narrow", amount=5, idempotency_key="k", fingerprint="five").amount == 5

    def test_an_answer_is_repeated_although_the_limit_is_lower_now(self, bank):
        bank.open("narrow", limits=Limits(amount_max=6))
        bank.give("narrow", 6)
        first = bank.registered(payer="narrow", amount=6, idempotency_key="k", fingerprint="six")
        account = bank.ledger.account("demo", "narrow")
        bank.ledger.set_limits(account, Limits(amount_max=5), now=START)
        assert bank.registered(payer="narrow", amount=6, idempotency_key="k", fingerprint="six") == first

    def test_a_limit_of_delays_names_the_field_that_was_sent(self, bank):
        bank.open("narrow", limits=Limits(delay_max=timedelta(seconds=4)))
        refusal = self.refused(bank, LimitExceeded, payer="narrow", instant_field="delay_seconds")
        assert refusal.fields[0][0] == "delay_seconds"

    def test_only_the_payers_limits_count(self, bank):
        bank.open("narrow", limits=Limits(amount_max=1))
        bank.register(payee="narrow")

    def test_an_instant_that_has_passed_leaves_no_key(self, bank):
        self.refused(bank, ValidationFailed, refusal=PAST, idempotency_key="k")
        assert bank.reservations.find("demo", "pay k") is None

    def test_a_ledger_that_does_not_answer_is_told_as_that(self, bank):
        bank.ledger.unavailable = 1
        self.refused(bank, Unavailable)

    def test_a_key_table_that_fails_leaves_no_payment(self, bank):
        def refuse(*_, **__):
            raise Unavailable

        bank.reservations.reserve = refuse
        self.refused(bank, Unavailable)

    def test_a_refused_payment_may_be_requested_again_with_its_key(self, bank):
        self.refused(bank, InsufficientFunds, amount=1500, idempotency_key="k")
        bank.give("payer", 500)
        bank.register(amount=1500, idempotency_key="k")
        assert bank.money("payer") == (0, 1500)


class TestKeys:
    def test_the_same_key_and_body_give_the_same_answer_and_move_nothing(self, bank):
        first = bank.register(idempotency_key="k", due_at=START + 300 * SECOND)
        before = bank.ledger.state
        bank.clock.move(7 * SECOND)
        second = bank.register(idempotency_key="k", due_at=START + 307 * SECOND)
        assert (first.replayed, second.replayed) == (False, True)
        assert second.payment == first.payment
        assert bank.ledger.state == before

    def test_a_replay_answers_as_the_first_time_whatever_became_of_payment_and_accounts(self, bank):
        first = bank.register(idempotency_key="k", due_at=SOON, amount=1000)
        bank.settle(first.payment)
        bank.freeze("payer")
        bank.freeze("payee")
        before = bank.ledger.state
        bank.clock.move(60 * MINUTE)
        bank.queue.take()
        again = bank.register(idempotency_key="k", due_at=bank.clock.now() + SECOND, amount=1000)
        assert (again.replayed, again.payment) == (True, first.payment)
        assert bank.ledger.state == before
        assert bank.queue.sent == []

    def test_an_order_that_was_answered_is_answered_again_though_its_instant_has_passed(self, bank):
        first = bank.registered(idempotency_key="k", due_at=SOON)
        bank.clock.move(60 * MINUTE)
        again = bank.register(idempotency_key="k", due_at=bank.clock.now(), refusal=PAST)
        assert (again.replayed, again.payment) == (True, first)

    def test_a_replay_sends_the_call_that_a_crash_may_have_kept_back(self, bank):
        payment = bank.registered(idempotency_key="k", due_at=SOON)
        bank.queue.take()
        bank.register(idempotency_key="k", due_at=SOON)
        assert bank.queue.ids == [payment.id]

    def test_the_same_key_with_another_body_is_refused_and_writes_nothing(self, bank):
        bank.register(idempotency_key="k", fingerprint="one")
        before = bank.ledger.state
        with pytest.raises(IdempotencyKeyReused):
            bank.register(idempotency_key="k", fingerprint="another")
        assert bank.ledger.state == before

    def test_a_key_is_its_tenants_own(self, bank):
        for id in ("payer", "payee"):
            bank.open(id, tenant="other")
        bank.give("payer", 1000, tenant="other")
        ours = bank.registered(idempotency_key="k", fingerprint="one")
        (theirs,) = bank.registrar.register("other", [order(idempotency_key="k", fingerprint="two")])
        assert (theirs.payment.tenant, theirs.replayed) == ("other", False)
        assert theirs.payment.id != ours.id

    def test_one_key_for_a_task_and_a_payment_are_two(self, bank, service):
        service.registrar.register("demo", [task_order(idempotency_key="k")])
        kept = service.reservations.find("demo", "k")
        bank.reservations.reserve(kept, now=START)
        assert bank.register(idempotency_key="k", fingerprint="another").replayed is False

    def test_a_key_is_kept_for_ever(self, bank):
        first = bank.registered(idempotency_key="k")
        assert bank.reservations.find("demo", "pay k").keep_until is None
        bank.clock.move(timedelta(days=3650))
        assert bank.registered(idempotency_key="k", due_at=bank.clock.now() + SECOND) == first

    def test_a_crash_between_key_and_payment_is_repaired_by_the_callers_retry(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        assert bank.payments == []
        bank.clock.move(SECOND)
        retried = bank.register(idempotency_key="k", due_at=SOON + SECOND)
        assert (retried.payment.due_at, retried.payment.created_at) == (SOON, START)
        assert bank.payments == [retried.payment.id]
        assert bank.stored(retried.payment.id).moved_at == START + SECOND
        assert bank.queue.ids == bank.payments
        assert bank.money("payer") == (900, 100)

    def test_an_answer_of_the_ledger_that_got_lost_is_found_by_the_retry(self, bank):
        bank.ledger.before["post"].append(lambda: bank.registered(idempotency_key="k", due_at=SOON))
        answer = bank.register(idempotency_key="k", due_at=SOON)
        assert bank.payments == [answer.payment.id]
        assert bank.money("payer") == (900, 100)

    def test_limits_are_measured_from_when_it_was_first_asked_for(self, bank):
        bank.open("narrow", limits=Limits(delay_min=timedelta(seconds=5)))
        bank.give("narrow", 1000)
        crashed(bank, idempotency_key="k", due_at=SOON, payer="narrow")
        bank.clock.move(4 * SECOND)
        assert bank.registered(idempotency_key="k", due_at=SOON + 4 * SECOND, payer="narrow").due_at == SOON

    def test_a_retry_after_the_minute_of_the_first_try_is_due_later_and_found_there(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        kept = bank.reservations.find("demo", "pay k").item_id
        bank.clock.move(5 * MINUTE)
        later = bank.clock.now() + 5 * SECOND
        answer = bank.register(idempotency_key="k", due_at=later).payment
        assert (answer.id, answer.due_at, answer.created_at) == (kept, later, bank.clock.now())
        slot = PLAN.slot(later, unique_part(kept))
        assert [(entry.due, entry.moved_at) for entry in bank.ledger.due_in(slot)] == [
            (Due.of(answer), bank.clock.now())
        ]
        assert bank.queue.ids == [kept]
        assert bank.registered(idempotency_key="k", due_at=later) == answer
        assert bank.money("payer") == (900, 100)

    @pytest.mark.parametrize("before_end", [SECOND, MINUTE - 6 * SECOND])
    def test_a_retry_takes_up_a_first_try_only_while_its_minute_lasts(self, bank, before_end):
        """After that minute the retry registers anew, so that a closing pass sees its row."""
        crashed(bank, idempotency_key="k", due_at=SOON)
        bank.clock.sleep_until(START + MINUTE - before_end)
        assert bank.registered(idempotency_key="k", due_at=FAR).due_at == SOON

    def test_at_the_end_of_the_minute_it_is_too_late(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        bank.clock.sleep_until(START + MINUTE)
        assert bank.registered(idempotency_key="k", due_at=FAR).due_at == FAR

    def test_of_two_retries_on_either_side_of_the_minutes_end_one_is_written_and_both_tell_of_it(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        bank.clock.sleep_until(START + MINUTE - SECOND)
        answers = []

        def other():
            bank.clock.move(2 * SECOND)
            answers.append(bank.registered(idempotency_key="k", due_at=FAR, amount=400))

        bank.ledger.before["post"].append(other)
        answers.append(bank.registered(idempotency_key="k", due_at=SOON, amount=400))
        answers.append(bank.registered(idempotency_key="k", due_at=FAR + MINUTE, amount=400))
        assert bank.payments == [answers[0].id]
        assert bank.money("payer") == (600, 400)
        assert answers[0].due_at == FAR
        assert answers == [answers[0]] * 3

    def test_a_first_try_that_is_slow_may_still_be_the_one_that_is_written(self, bank):
        first = {"idempotency_key": "k", "due_at": SOON}
        sent = []

        def on_its_way(postings):
            sent.extend(postings)
            raise KeyboardInterrupt

        bank.ledger.post = on_its_way
        with pytest.raises(KeyboardInterrupt):
            bank.register(**first)
        del bank.ledger.post
        bank.clock.sleep_until(START + MINUTE)
        bank.ledger.before["post"].append(lambda: MemoryLedger.post(bank.ledger, sent))
        told = bank.registered(idempotency_key="k", due_at=FAR)
        assert (told.due_at, told.created_at) == (SOON, START)
        assert bank.registered(idempotency_key="k", due_at=FAR + MINUTE) == told
        assert bank.stored(told.id).due_at == SOON
        assert bank.money("payer") == (900, 100)

    def test_an_unknown_outcome_of_one_payment_spoils_no_other(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        bank.clock.sleep_until(START + MINUTE - SECOND)

        def other():
            bank.clock.move(2 * SECOND)
            bank.register(idempotency_key="k", due_at=FAR)
            bank.reservations.find = unavailable

        bank.ledger.before["post"].append(other)
        orders = [order(idempotency_key="k", due_at=SOON), order()]
        lost, fine = bank.registrar.register("demo", orders)
        assert (type(lost), type(fine)) == (Unavailable, RegisteredPayment)
        del bank.reservations.find
        assert bank.registered(idempotency_key="k").due_at == FAR

    def test_the_answer_stays_when_the_payment_is_changed_since(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        bank.clock.move(5 * MINUTE)
        first = bank.registered(idempotency_key="k", due_at=FAR)
        bank.changer.edit(
            ANYBODY, first.id, version=None, due_at=FAR + MINUTE, amount=7, instant_field="scheduled_time"
        )
        assert bank.registered(idempotency_key="k", due_at=FAR + 2 * MINUTE) == first

    def test_a_key_that_is_tried_for_hours_in_vain_is_written_in_the_end(self, bank):
        for _ in range(100):
            with pytest.raises(InsufficientFunds):
                bank.register(idempotency_key="k", due_at=bank.clock.now() + SECOND, amount=1500)
            bank.clock.move(2 * MINUTE)
        assert len(bank.reservations.find("demo", "pay k").earlier) == 10
        bank.give("payer", 500)
        answer = bank.registered(idempotency_key="k", due_at=FAR + 300 * MINUTE, amount=1500)
        assert bank.registered(idempotency_key="k", due_at=FAR + 400 * MINUTE, amount=1500) == answer
        assert bank.payments == [answer.id]

    def test_of_two_that_give_it_a_new_instant_one_wins_and_the_other_is_told_to_come_back(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        bank.clock.move(5 * MINUTE)
        redate, first = bank.reservations.redate, []

        def slowly(found, again):
            bank.reservations.redate = redate
            first.append(bank.registered(idempotency_key="k", due_at=FAR))
            return redate(found, again)

        bank.reservations.redate = slowly
        with pytest.raises(IdempotencyInProgress):
            bank.register(idempotency_key="k", due_at=FAR + SECOND)
        assert bank.payments == [first[0].id]

    def test_one_whose_clock_is_behind_the_first_trys_is_told_to_come_back(self, bank):
        """Requests are told apart by when they were made."""
        ahead = Reservation(
            tenant="demo",
            key="pay k",
            fingerprint="asked",
            item_id=a_payment().id,
            due_at=START - MINUTE,
            created_at=START + SECOND,
            keep_until=None,
        )
        bank.reservations.reserve(ahead, now=START)
        with pytest.raises(IdempotencyInProgress):
            bank.register(idempotency_key="k", due_at=FAR)

    def test_an_order_whose_key_was_reserved_and_no_more_is_refused_once_nobody_can_write_it(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON)
        for instant in (SOON, START + 2 * MINUTE - SECOND):
            bank.clock.sleep_until(instant)
            with pytest.raises(IdempotencyInProgress):
                bank.register(idempotency_key="k", refusal=PAST)
        bank.clock.move(SECOND)
        with pytest.raises(ValidationFailed):
            bank.register(idempotency_key="k", refusal=PAST)
        assert bank.payments == []

    def test_while_a_first_try_runs_nobody_is_refused_for_good(self, bank):
        told = []

        def sibling():
            bank.clock.move(3 * SECOND)
            told.extend(bank.registrar.register("demo", [order(idempotency_key="k", refusal=PAST)]))

        bank.ledger.before["post"].append(sibling)
        first = bank.registered(idempotency_key="k", due_at=START + 2 * SECOND)
        assert [type(each) for each in told] == [IdempotencyInProgress]
        assert bank.registered(idempotency_key="k", refusal=PAST) == first

    def test_another_body_is_told_so_even_while_the_first_try_runs(self, bank):
        crashed(bank, idempotency_key="k", due_at=SOON, fingerprint="one")
        with pytest.raises(IdempotencyKeyReused):
            bank.register(idempotency_key="k", refusal=PAST, fingerprint="another")

    def test_a_cancelled_payment_is_not_registered_anew(self, bank):
        first = bank.registered(idempotency_key="k")
        bank.changer.cancel(ANYBODY, first.id, version=None)
        again = bank.register(idempotency_key="k")
        assert (again.replayed, again.payment.state) == (True, State.PENDING)
        assert bank.money("payer") == (1000, 0)


class TestBatches:
    def test_answers_come_in_the_order_of_their_orders_and_all_are_posted_together(self, bank):
        orders = [order(amount=1, due_at=SOON, description=str(number)) for number in range(100)]
        answers = bank.registrar.register("demo", orders)
        assert [answer.payment.description for answer in answers] == [str(number) for number in range(100)]
        assert [len(postings) for postings in bank.ledger.posted] == [100]
        assert [posting.after.description for posting in bank.ledger.posted[0]] == [
            str(number) for number in range(100)
        ]
        assert sorted(bank.queue.ids) == sorted(answer.payment.id for answer in answers)

    def test_one_that_is_refused_spoils_no_other(self, bank):
        bank.register(idempotency_key="used", fingerprint="one")
        bank.freeze("third")
        answers = bank.registrar.register(
            "demo",
            [
                order(description="a"),
                order(idempotency_key="used", fingerprint="another"),
                order(payee="nobody"),
                order(payee="third"),
                order(refusal=PAST),
                order(amount=900_000),
                order(description="b"),
            ],
        )
        assert [type(answer) for answer in answers] == [
            RegisteredPayment,
            IdempotencyKeyReused,
            NotFound,
            AccountFrozen,
            ValidationFailed,
            InsufficientFunds,
            RegisteredPayment,
        ]
        assert [answers[0].payment.description, answers[6].payment.description] == ["a", "b"]
        assert bank.money("payer") == (700, 300)

    def test_the_money_of_an_account_goes_to_the_first_orders_of_a_batch(self, bank):
        answers = bank.registrar.register("demo", [order(amount=400) for _ in range(3)])
        assert [isinstance(answer, PostdateError) for answer in answers] == [False, False, True]

    def test_one_key_twice_with_one_body_is_one_payment(self, bank):
        answers = bank.registrar.register("demo", [order(idempotency_key="k")] * 2)
        assert answers[0].payment == answers[1].payment
        assert [answer.replayed for answer in answers] == [False, True]
        assert bank.money("payer") == (900, 100)

    def test_of_one_key_with_two_bodies_the_first_wins_however_slow_it_is(self, bank):
        reserve, overtaken = bank.reservations.reserve, Event()

        def slowly(wanted, *, now):
            if wanted.fingerprint == "one":
                overtaken.wait(0.05)
            found = reserve(wanted, now=now)
            overtaken.set()
            return found

        bank.reservations.reserve = slowly
        orders = [order(idempotency_key="k", fingerprint=text) for text in ("one", "another", "one")]
        answers = bank.registrar.register("demo", orders)
        assert [type(answer) for answer in answers] == [
            RegisteredPayment,
            IdempotencyKeyReused,
            RegisteredPayment,
        ]

    def test_one_that_is_refused_is_refused_wherever_its_key_stands(self, bank):
        answers = bank.registrar.register("demo", [order(idempotency_key="k", amount=2000)] * 2)
        assert [type(answer) for answer in answers] == [InsufficientFunds] * 2

    def test_a_key_that_a_refused_order_did_not_take_is_free_for_the_next(self, bank):
        orders = [
            order(idempotency_key="k", fingerprint="one", refusal=PAST),
            order(idempotency_key="k", fingerprint="two"),
        ]
        assert [type(answer) for answer in bank.registrar.register("demo", orders)] == [
            ValidationFailed,
            RegisteredPayment,
        ]
