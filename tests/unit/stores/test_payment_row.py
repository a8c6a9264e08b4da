"""Rows, events and answers keep every term of a payment. A term that was forgotten would be lost without an error."""

import json
from dataclasses import fields, replace
from datetime import timedelta

from functions.api.payments import terms
from functions.api.payments.forms import PaymentForm, read
from postdate.domain import money, payment_event
from postdate.domain.payment import Funding, Payment, Terms
from postdate.stores.payment_row import attributes_of, payment_in
from tests.unit.doubles import START, a_payment

USUAL = Terms(payer="a", payee="b", amount=1)
UNUSUAL = Terms(
    payer="alice",
    payee="bob",
    amount=7,
    funding=Funding.AT_EXECUTION,
    description="rent",
    metadata=(("order", "1"),),
)


def registered(given: Terms) -> Payment:
    after = money.register(given, id=a_payment().id, tenant="demo", due_at=START, now=START).after
    assert after is not None
    return after


def test_the_example_sets_every_term() -> None:
    for field in fields(Terms):
        assert getattr(UNUSUAL, field.name) != getattr(USUAL, field.name), field.name


def test_a_registered_payment_has_every_term() -> None:
    assert registered(UNUSUAL).terms == UNUSUAL.terms


def test_a_row_keeps_every_field_of_a_payment() -> None:
    whole = replace(
        registered(UNUSUAL),
        planned_at=START - timedelta(seconds=1),
        attempts=2,
        lease_until=START,
        finished_at=START,
        error_code="c",
        error="e",
    )
    assert payment_in(attributes_of(whole, listing_shards=1)) == whole


def test_an_event_tells_every_term() -> None:
    usual, told = (payment_event.fields_of(registered(each)) for each in (USUAL, UNUSUAL))
    assert len({name for name in told if told[name] != usual.get(name)}) == len(fields(Terms))


def test_a_request_sets_and_an_answer_shows_every_term() -> None:
    shown = terms.answer_of(UNUSUAL)
    asked = read(PaymentForm, json.dumps({**shown, "delay_seconds": 60}).encode())
    assert terms.terms_of(asked) == UNUSUAL
    assert shown.keys() == terms.TermsForm.model_fields.keys()
    assert terms.TermsChangeForm.model_fields.keys() <= terms.TermsForm.model_fields.keys()
