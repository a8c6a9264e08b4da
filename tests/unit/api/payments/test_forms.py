import json
from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.forms import DELAY_SECONDS_MAX, fingerprint, parsed
from functions.api.payments import answers, execution_answers
from functions.api.payments.forms import (
    BatchPaymentForm,
    ExecutionForm,
    PaymentBatchForm,
    PaymentChangeForm,
    PaymentForm,
    due_at,
    read,
)
from postdate.domain import money, settlement
from postdate.domain.account import AMOUNT_CAP
from postdate.domain.errors import LimitExceeded, Malformed, ValidationFailed
from postdate.domain.payment import Funding, State
from postdate.domain.retry import RetryPolicy
from tests.unit.api.payments.conftest import ANYBODY, FAR
from tests.unit.doubles import MINUTE, SECOND, START

ASKED = {"from_account_id": "a", "to_account_id": "b", "amount": 100, "delay_seconds": 5}
MISSING = Ellipsis


def body(**changes):
    asked = {**ASKED, **changes}
    return json.dumps({name: value for name, value in asked.items() if value is not MISSING})


def fields_refused(form, text, error=ValidationFailed):
    with pytest.raises(error) as refused:
        read(form, text)
    assert type(refused.value) is error
    return [name for name, _ in refused.value.fields]


WRONG = [
    ({"colour": "red"}, "colour"),
    *(({"amount": amount}, "amount") for amount in (0, -1, 1.0, 1.5, "100", True, None, [], 1e300, MISSING)),
    *(
        ({field: id}, field)
        for field in ("from_account_id", "to_account_id")
        for id in ("", "-a", "a b", "a/b", "ü", "a" * 65, 1, None, MISSING, "a\n")
    ),
    ({"to_account_id": "a"}, "to_account_id"),
    *(
        ({"delay_seconds": delay}, "delay_seconds")
        for delay in (0, -1, DELAY_SECONDS_MAX + 1, 1.5, "5", True)
    ),
    *(
        ({"delay_seconds": MISSING, "scheduled_time": time}, "scheduled_time")
        for time in ("tomorrow", "2026-11-18", "2026-11-18T10:05:00", 1795000000, "1795000000")
    ),
    ({"delay_seconds": MISSING}, "body"),
    ({"scheduled_time": "2026-11-18T10:06:00Z"}, "body"),
    ({"description": "d" * 501}, "description"),
    ({"description": 1}, "description"),
    ({"funding": "later"}, "funding"),
    ({"funding": None}, "funding"),
    ({"metadata": {str(number): "v" for number in range(21)}}, "metadata"),
    ({"metadata": {"": "v"}}, "metadata"),
    ({"metadata": {"k": "v" * 501}}, "metadata.k"),
    ({"metadata": {"k": 1}}, "metadata.k"),
    ({"metadata": None}, "metadata"),
    ({"idempotency_key": "k"}, "idempotency_key"),
]


@pytest.mark.parametrize(("changes", "field"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_field_is_refused_by_its_name(changes, field):
    assert fields_refused(PaymentForm, body(**changes)) == [field]


def test_an_amount_that_nobody_may_pay_is_a_limit():
    assert read(PaymentForm, body(amount=1_000_000)).amount == 1_000_000
    assert fields_refused(PaymentForm, body(amount=AMOUNT_CAP + 1), LimitExceeded) == ["amount"]
    assert fields_refused(BatchPaymentForm, body(amount=10**30), LimitExceeded) == ["amount"]
    assert fields_refused(PaymentChangeForm, f'{{"amount": {AMOUNT_CAP + 1}}}', LimitExceeded) == ["amount"]


def test_a_number_of_too_many_digits_is_refused():
    with pytest.raises((Malformed, ValidationFailed)):
        read(PaymentForm, body().replace("100", "1" * 5000))


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": 1},
        {"from_account_id": "A.b_c:d-0"},
        {"to_account_id": "a" * 64},
        {"delay_seconds": 1},
        {"delay_seconds": DELAY_SECONDS_MAX},
        {"description": "d" * 500},
        {"description": None},
        {"metadata": {"k" * 40 if number == 0 else str(number): "v" * 500 for number in range(20)}},
        {"metadata": {"k": ""}},
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_bounds_themselves_are_allowed(changes):
    form = read(PaymentForm, body(**changes))
    assert {name: getattr(form, name) for name in changes} == changes


def test_fields_that_are_left_out_have_their_defaults():
    form = read(PaymentForm, body())
    assert (form.funding, form.description, form.metadata) == (Funding.RESERVE, None, {})
    assert read(PaymentForm, body(funding="at_execution")).funding is Funding.AT_EXECUTION


class TestInstants:
    def asked(self, time):
        return due_at(read(PaymentForm, body(delay_seconds=MISSING, scheduled_time=time)), START)

    def test_a_delay_counts_from_now(self):
        assert due_at(read(PaymentForm, body(delay_seconds=90)), START) == START + 90 * SECOND

    def test_an_instant_is_read_with_its_offset_and_never_cut_to_an_earlier_one(self):
        assert self.asked("2026-11-18T12:06:00+02:00") == START + MINUTE
        assert self.asked("2026-11-18T10:06:00.0001Z") == START + MINUTE + SECOND / 1000

    @pytest.mark.parametrize("offset", [0, -0.001, -86_400, DELAY_SECONDS_MAX + 0.001])
    def test_an_instant_in_the_past_or_more_than_a_year_ahead_is_returned_as_a_refusal(self, offset):
        refusal = self.asked((START + timedelta(seconds=offset)).isoformat())
        assert isinstance(refusal, ValidationFailed)
        assert refusal.fields[0][0] == "scheduled_time"

    @pytest.mark.parametrize("time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
    def test_the_edges_of_the_calendar_are_refused_by_name(self, time):
        with pytest.raises(ValidationFailed, match="scheduled_time: is an instant from 1970 to 2200"):
            self.asked(time)

    def test_a_year_ahead_is_allowed(self):
        last = START + DELAY_SECONDS_MAX * SECOND
        assert self.asked(last.isoformat()) == last


class TestChanges:
    @pytest.mark.parametrize(
        "text",
        [
            "{}",
            '{"amount": null}',
            '{"scheduled_time": null, "delay_seconds": null}',
            '{"scheduled_time": "2026-11-18T10:06:00Z", "delay_seconds": 1}',
        ],
    )
    def test_a_change_of_nothing_or_to_two_instants_is_refused(self, text):
        assert fields_refused(PaymentChangeForm, text) == ["body"]

    def test_a_description_can_be_cleared(self):
        form = read(PaymentChangeForm, '{"description": null}')
        assert (form.description, form.model_fields_set) == (None, {"description"})

    @pytest.mark.parametrize("amount", [0, -1, 1.5, "1", True])
    def test_an_amount_is_as_strict_as_at_first(self, amount):
        assert fields_refused(PaymentChangeForm, json.dumps({"amount": amount})) == ["amount"]

    @pytest.mark.parametrize("field", ["from_account_id", "to_account_id", "funding", "metadata", "status"])
    def test_a_field_that_cannot_be_changed_is_refused_by_its_name(self, field):
        assert fields_refused(PaymentChangeForm, json.dumps({"amount": 1, field: "x"})) == [field]


@pytest.mark.parametrize("number", [0, 101])
def test_a_batch_has_one_to_a_hundred_payments(number):
    with pytest.raises(ValidationFailed):
        parsed(PaymentBatchForm, json.dumps({"payments": [ASKED] * number}))


@pytest.mark.parametrize("number", [1, 100])
def test_the_items_of_a_batch_are_not_judged_by_its_form(number):
    assert len(parsed(PaymentBatchForm, json.dumps({"payments": [1] * number})).payments) == number


@pytest.mark.parametrize("id", ["", "e" * 129, "with space", "ü", 1, None])
def test_an_execution_is_named_visibly(id):
    with pytest.raises(ValidationFailed):
        parsed(ExecutionForm, json.dumps({"execution_id": id}))


class TestFingerprints:
    def test_order_offsets_and_what_is_usual_anyway_make_no_difference(self):
        given = {"from_account_id": "a", "to_account_id": "b", "amount": 100}
        one = read(PaymentForm, json.dumps({"scheduled_time": "2026-11-18T12:06:00+02:00", **given}))
        usual = {"funding": "reserve", "metadata": {}, "description": None}
        same = read(PaymentForm, json.dumps({**given, "scheduled_time": "2026-11-18T10:06:00.000Z", **usual}))
        assert fingerprint(one) == fingerprint(same)

    def test_the_key_itself_is_no_part_of_what_is_asked(self):
        with_key = read(BatchPaymentForm, body(idempotency_key="k"))
        assert fingerprint(with_key) == fingerprint(read(PaymentForm, body()))

    @pytest.mark.parametrize(
        "changes",
        [
            {"delay_seconds": 6},
            {"delay_seconds": MISSING, "scheduled_time": "2026-11-18T10:05:05Z"},
            {"amount": 101},
            {"from_account_id": "c"},
            {"to_account_id": "c"},
            {"description": ""},
            {"funding": "at_execution"},
            {"metadata": {"k": "v"}},
        ],
        ids=str,
    )
    def test_every_difference_in_what_is_asked_makes_one(self, changes):
        assert fingerprint(read(PaymentForm, body(**changes))) != fingerprint(read(PaymentForm, body()))


class TestViews:
    def test_the_answer_about_a_waiting_payment_has_instants_in_utc(self, bank):
        payment = bank.registered(description="rent", metadata=(("k", "v"),))
        assert answers.of(payment) == {
            "payment_id": payment.id,
            "from_account_id": "payer",
            "to_account_id": "payee",
            "amount": 100,
            "scheduled_time": "2026-11-18T11:05:00.000Z",
            "status": "PENDING",
            "funding": "reserve",
            "description": "rent",
            "metadata": {"k": "v"},
            "created_at": "2026-11-18T10:05:00.000Z",
            "executed_at": None,
            "cancelled_at": None,
            "error_code": None,
            "error_message": None,
            "lateness_ms": None,
            "attempts": 0,
            "version": 1,
        }

    def test_the_answer_about_an_ended_payment_tells_when_and_how_it_ended(self, bank):
        done, cancelled, failed = bank.registered(), bank.registered(), bank.registered(amount=800)
        bank.changer.cancel(ANYBODY, cancelled.id, version=None)
        bank.freeze("payer")
        told = [answers.of(bank.settle(payment)) for payment in (failed, cancelled)]
        bank.ledger.set_status("demo", "payer", bank.ledger.account("demo", "payee").status, now=START)
        told.append(answers.of(bank.settle(done)))
        assert [each["status"] for each in told] == ["FAILED", "CANCELLED", "COMPLETED"]
        assert [each["executed_at"] for each in told] == [None, None, "2026-11-18T11:05:00.000Z"]
        assert [each["cancelled_at"] for each in told] == [None, "2026-11-18T10:05:00.000Z", None]
        assert [each["error_code"] for each in told] == ["account_frozen", None, None]
        assert [each["lateness_ms"] for each in told] == [None, None, 0]

    def test_each_execution_is_told(self, bank):
        payment = bank.registered()
        edited = money.edit(payment, now=START, amount=5, why="changed amount").after
        retry = RetryPolicy(max_attempts=3, initial_seconds=1, jitter=False)
        stumbled = settlement.stumble(edited, now=FAR, why="conflict", retry=retry, draw=0.0).after
        settled = settlement.settle(stumbled, now=FAR + SECOND).after
        assert [each["status"] for each in execution_answers.executions(settled)] == ["FAILED", "SUCCESS"]
        assert execution_answers.executions(settled)[0] == {
            "execution_id": settled.executions[0].id,
            "payment_id": settled.id,
            "status": "FAILED",
            "started_at": "2026-11-18T11:05:00.000Z",
            "completed_at": "2026-11-18T11:05:01.000Z",
            "executed_at": None,
            "error_message": "conflict",
            "retry_count": 0,
        }
        moved = execution_answers.executions(settled)[1]
        assert moved["executed_at"] == moved["completed_at"] is not None

    @pytest.mark.parametrize("state", State)
    def test_a_view_can_be_written_as_json_and_names_no_tenant(self, bank, state):
        told = answers.of(replace(bank.registered(metadata=(("k", "v"),)), state=state, finished_at=FAR))
        assert json.loads(json.dumps(told)) == told
        assert "tenant" not in told
