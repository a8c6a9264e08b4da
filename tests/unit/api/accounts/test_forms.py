import json
from datetime import timedelta

import pytest

from functions.api.accounts import answers
from functions.api.accounts.forms import (
    MOVED_MAX,
    AccountChangeForm,
    AccountForm,
    AdjustmentForm,
    DepositForm,
)
from functions.api.forms import DELAY_SECONDS_MAX, fingerprint, instant_of, parsed, text_of
from postdate.domain import instants
from postdate.domain.account import AMOUNT_CAP, Limits
from postdate.domain.errors import ValidationFailed
from postdate.domain.movement import Movement, Type, place_at
from tests.unit.doubles import MINUTE, START


def fields_refused(form, asked):
    with pytest.raises(ValidationFailed) as refused:
        parsed(form, json.dumps(asked))
    return [name for name, _ in refused.value.fields]


@pytest.mark.parametrize("id", ["", "-a", "a b", "a/b", "ü", "a" * 65, "a\n", 1, None])
def test_an_account_has_a_plain_name(id):
    assert fields_refused(AccountForm, {"account_id": id}) == ["account_id"]


@pytest.mark.parametrize("id", ["a", "0", "A.b_c:d-e", "a" * 64])
def test_plain_names_are_taken(id):
    assert parsed(AccountForm, json.dumps({"account_id": id})).account_id == id


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"amount_min": 0}, "limits.amount_min"),
        ({"amount_max": AMOUNT_CAP + 1}, "limits.amount_max"),
        ({"amount_max": 1.0}, "limits.amount_max"),
        ({"amount_max": True}, "limits.amount_max"),
        ({"amount_max": None}, "limits.amount_max"),
        ({"delay_seconds_min": 0}, "limits.delay_seconds_min"),
        ({"delay_seconds_max": DELAY_SECONDS_MAX + 1}, "limits.delay_seconds_max"),
        ({"amount_min": 5, "amount_max": 4}, "limits"),
        ({"delay_seconds_min": 5, "delay_seconds_max": 4}, "limits"),
        ({"colour": 1}, "limits.colour"),
        (None, "limits"),
    ],
)
def test_limits_are_within_what_any_account_may_have(limits, field):
    assert fields_refused(AccountForm, {"account_id": "a", "limits": limits}) == [field]


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({}, "limits"),
        ({"amount_max": None}, "limits"),
        ({"amount_max": 0}, "limits.amount_max"),
        ({"amount_max": AMOUNT_CAP + 1}, "limits.amount_max"),
        ({"delay_seconds_max": DELAY_SECONDS_MAX + 1}, "limits.delay_seconds_max"),
        ({"colour": 1}, "limits.colour"),
        (None, "limits"),
    ],
)
def test_a_change_of_limits_names_one_at_least(limits, field):
    assert fields_refused(AccountChangeForm, {"limits": limits}) == [field]
    assert fields_refused(AccountChangeForm, {}) == ["limits"]


def test_a_change_of_limits_changes_what_it_names():
    asked = '{"limits": {"amount_min": null, "amount_max": 7, "delay_seconds_min": 60}}'
    given = parsed(AccountChangeForm, asked).limits.given()
    assert given == {"amount_max": 7, "delay_min": MINUTE}


def test_limits_that_are_not_said_are_everybodys():
    assert parsed(AccountForm, '{"account_id": "a"}').limits.limits() == Limits()
    narrow = parsed(AccountForm, '{"account_id": "a", "limits": {"amount_max": 5}}').limits.limits()
    assert narrow == Limits(amount_max=5)


@pytest.mark.parametrize("amount", [0, -1, 1.0, "1", True, None, MOVED_MAX + 1])
def test_a_deposit_has_a_whole_amount(amount):
    assert fields_refused(DepositForm, {"amount": amount}) == ["amount"]
    assert parsed(DepositForm, json.dumps({"amount": MOVED_MAX})).amount == MOVED_MAX


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *(("reference", each) for each in ("", "r" * 129, 1, "a\u200bb", "a\n")),
        *(("description", each) for each in ("d" * 501, 1, "a\u202eb")),
        *(
            ("metadata", each)
            for each in (None, {"a": 1}, {"": "x"}, {"a": "x" * 501}, {str(n): "" for n in range(21)})
        ),
    ],
)
def test_the_note_of_a_deposit_has_the_bounds_of_a_payments(field, wrong):
    (refused,) = fields_refused(DepositForm, {"amount": 1, field: wrong})
    assert refused.split(".")[0] == field


def test_a_deposit_without_a_note_has_the_fingerprint_that_it_always_had():
    plain = parsed(DepositForm, '{"amount": 1}')
    assert fingerprint(plain, "a") == "962d8abf5be80509f2c6ff505794e8887f0a1e3f221f96a23fd97bea63f0a614"
    empty = parsed(DepositForm, '{"amount": 1, "reference": null, "metadata": {}}')
    noted = parsed(DepositForm, '{"amount": 1, "reference": "r"}')
    assert fingerprint(empty, "a") == fingerprint(plain, "a") != fingerprint(noted, "a")


def test_the_fingerprint_includes_what_is_asked_beside_the_body():
    form = parsed(DepositForm, '{"amount": 1}')
    assert fingerprint(form, "a") == fingerprint(form, "a")
    assert fingerprint(form, "a") != fingerprint(form, "b")


@pytest.mark.parametrize("amount", [0, 1.5, "1", False, MOVED_MAX + 1, -MOVED_MAX - 1])
def test_an_adjustment_has_a_whole_amount_of_either_sign(amount):
    assert fields_refused(AdjustmentForm, {"amount": amount, "reason": "r"}) == ["amount"]
    assert parsed(AdjustmentForm, '{"amount": -1, "reason": "r"}').amount == -1


def test_an_adjustment_is_by_an_amount_or_to_the_journal():
    assert parsed(AdjustmentForm, '{"to_journal": true, "reason": "r"}').amount is None
    for both in ({}, {"amount": None}, {"amount": 1, "to_journal": True}):
        assert fields_refused(AdjustmentForm, {**both, "reason": "r"}) == ["body"]
    assert fields_refused(AdjustmentForm, {"to_journal": False, "reason": "r"}) == ["to_journal"]


@pytest.mark.parametrize("reason", ["", "r" * 501, 1, None])
def test_an_adjustment_has_a_reason(reason):
    assert fields_refused(AdjustmentForm, {"amount": 1, "reason": reason}) == ["reason"]
    assert fields_refused(AdjustmentForm, {"amount": 1}) == ["reason"]


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-11-18", "2026-11-18T10:05:00", "1795000000"])
def test_an_instant_of_a_query_is_as_strict_as_one_of_a_body(text):
    with pytest.raises(ValidationFailed, match="until"):
        instant_of("until", text)


def test_an_instant_of_a_query_is_read_with_its_offset():
    assert instant_of("until", "2026-11-18T12:06:00+02:00") == START + MINUTE
    with pytest.raises(ValidationFailed):
        instant_of("until", "9999-12-31T23:59:59-14:00")


def test_an_account_tells_what_it_has_and_what_it_may(bank):
    bank.open("narrow", limits=Limits(amount_max=5))
    bank.registered(amount=300)
    assert answers.of(bank.ledger.account("demo", "payer")) == {
        "account_id": "payer",
        "balance": 1000,
        "available": 700,
        "reserved": 300,
        "status": "ACTIVE",
        "limits": {
            "amount_min": 1,
            "amount_max": 1_000_000,
            "delay_seconds_min": 1,
            "delay_seconds_max": DELAY_SECONDS_MAX,
        },
        "version": 3,
        "created_at": "2026-11-18T10:05:00.000Z",
        "updated_at": "2026-11-18T10:05:00.000Z",
    }
    assert answers.of(bank.ledger.account("demo", "narrow"))["limits"]["amount_max"] == 5


def test_each_side_sees_its_direction_of_a_movement():
    movement = Movement(
        id="txn_1",
        tenant="demo",
        type=Type.PAYMENT,
        payer="a",
        payee="b",
        amount=7,
        at=START,
        payment_id="pay_1",
        place=place_at(instants.milliseconds(START) + 7, "txn_1"),
    )
    out, into = answers.transaction(movement, "a"), answers.transaction(movement, "b")
    assert (out["direction"], out["amount"], out["counterparty"]) == ("OUT", 7, "b")
    assert (into["direction"], into["amount"], into["counterparty"]) == ("IN", 7, "a")
    assert out["payment_id"] == "pay_1"
    assert (out["status"], out["completed_at"]) == ("COMPLETED", text_of(START + timedelta(milliseconds=7)))


def test_a_receipt_tells_the_sign_of_an_adjustment():
    movement = Movement(
        id="txn_1",
        tenant="demo",
        type=Type.ADJUSTMENT,
        payer="a",
        payee=None,
        amount=7,
        at=START,
        reason="r",
    )
    assert answers.adjustment(movement, "a") == {
        "transaction_id": "txn_1",
        "account_id": "a",
        "type": "ADJUSTMENT",
        "amount": -7,
        "created_at": "2026-11-18T10:05:00.000Z",
        "reason": "r",
    }
