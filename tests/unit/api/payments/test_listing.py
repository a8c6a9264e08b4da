import base64
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.api.listing import Span
from functions.api.payments.listing import PaymentQuery, page
from functions.api.tasks.listing import TaskQuery
from postdate.domain import instants
from postdate.domain.errors import NotFound, ValidationFailed
from postdate.domain.payment import State
from postdate.domain.sweeping import Stage, Watermark
from postdate.stores.ledger import ListedPayment
from postdate.stores.places import place_of
from tests.unit.api.payments.conftest import ANYBODY, FAR, Bank, order
from tests.unit.api.swept import Notes, healthy, unfinished
from tests.unit.doubles import MINUTE, SECOND

ACCOUNTS = ("payer", "payee", "third")


def shown(bank, asked, tenant="demo"):
    found = page(PaymentQuery.of(tenant, asked), bank.ledger, healthy(bank.clock), clock=bank.clock)
    return found.items, found.cursor


def pages(bank, tenant="demo", **parameters):
    """Page after page as a client asks for them."""
    cursor, found = None, []
    while cursor is not None or not found:
        asked = {**parameters, **({} if cursor is None else {"cursor": cursor})}
        payments, cursor = shown(bank, asked, tenant)
        found.append(payments)
        assert len(found) < 1000
    return found


def ids(found):
    return [payment.id for payments in found for payment in payments]


def registered(bank, sides):
    """Payments between accounts in many minutes, every third one cancelled."""
    for id in ACCOUNTS:
        bank.give(id, 1000)
    made = []
    for number, (payer, payee) in enumerate(sides):
        payment = bank.registered(
            amount=1, payer=payer, payee=payee, due_at=FAR + (number * 7 % 50) * 20 * SECOND
        )
        if number % 3 == 0:
            payment = bank.changer.cancel(ANYBODY, payment.id, version=None)
        made.append(payment)
    return made


SIDES = st.lists(
    st.sampled_from([(a, b) for a in ACCOUNTS for b in ACCOUNTS if a != b]), min_size=0, max_size=40
)


OFFSETS = st.one_of(st.none(), st.integers(-1, 51))


@given(
    sides=SIDES,
    limit=st.integers(1, 20),
    account=st.sampled_from([None, *ACCOUNTS]),
    status=st.sampled_from([None, State.PENDING, State.CANCELLED, State.FAILED]),
    since=OFFSETS,
    until=OFFSETS,
    order=st.sampled_from([None, "asc", "desc"]),
)
def test_paging_shows_what_is_asked_for_once_and_in_order(sides, limit, account, status, since, until, order):
    bank = Bank()
    made = registered(bank, sides)
    first, last = (None if each is None else FAR + each * 20 * SECOND for each in (since, until))
    asked = {
        "account_id": account,
        "status": status,
        "from": first and first.isoformat(),
        "until": last and last.isoformat(),
        "order": order,
    }
    found = pages(bank, limit=str(limit), **{name: value for name, value in asked.items() if value})
    wanted = [
        (payment.planned_at, payment.id)
        for payment in made
        if account in (None, payment.payer, payment.payee)
        and status in (None, payment.state)
        and (first is None or first <= payment.planned_at)
        and (last is None or payment.planned_at < last)
    ]
    assert ids(found) == [id for _, id in sorted(wanted, reverse=order == "desc")]
    assert all(len(payments) <= limit for payments in found)


def test_a_payment_that_was_given_another_instant_stands_at_that_one():
    bank = Bank()
    first, second = registered(bank, [("payer", "payee")] * 2)
    later = second.planned_at + timedelta(hours=1)
    bank.changer.edit(
        ANYBODY, first.id, version=None, due_at=later, amount=None, instant_field="scheduled_time"
    ) if first.state is State.PENDING else None
    moved = bank.changer.edit(
        ANYBODY, second.id, version=None, due_at=FAR - 30 * MINUTE, amount=None, instant_field="x"
    )
    assert ids(pages(bank)) == [moved.id, first.id]


def test_metadata_is_looked_up_in_each_payment(bank):
    made = [bank.registered(amount=1, metadata=(("batch", str(number % 3)),)) for number in range(9)]
    asked = {"metadata.batch": "1", "limit": "2"}
    found = pages(bank, **asked)
    assert sorted(ids(found)) == sorted(payment.id for payment in made[1::3])
    assert pages(bank, **{"metadata.batch": "1", "metadata.other": "1"}) == [[]]
    with pytest.raises(ValidationFailed, match="at most 20"):
        PaymentQuery.of("demo", {f"metadata.{number}": "" for number in range(21)})


def spans(bank, asked, sweep=None):
    wanted = PaymentQuery.of("demo", asked).at(bank.clock.now(), sweep or healthy(bank.clock))
    return [(each.since, each.until) for each in wanted]


def test_a_list_of_completed_payments_reads_no_future(bank):
    """All that is to come would otherwise be read first."""
    bank.registered(amount=1, due_at=FAR)
    latest = bank.clock.now() + 10 * SECOND
    for asked in ({}, {"until": FAR.isoformat()}):
        assert spans(bank, {"status": "COMPLETED", **asked}) == [(None, latest)]
    assert [until for _, until in spans(bank, {"status": "PENDING"})] == [None]


def test_a_list_of_pending_payments_reads_the_minutes_that_the_sweep_noted_unless_it_names_an_instant(bank):
    now = bank.clock.now()
    assert spans(bank, {"status": "PENDING"}) == [(now - 10 * MINUTE, None)]
    until = now - 5 * MINUTE
    asked = {"status": "PENDING", "until": until.isoformat()}
    assert spans(bank, asked) == [(now - 10 * MINUTE, until)]
    assert spans(bank, {"status": "PENDING", "from": "1970-01-01T00:00:00Z"}) == [(instants.EPOCH, None)]
    assert spans(bank, {}) == [(None, None)]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", ["1", "2", "100"])
def test_a_list_of_what_waits_has_what_is_hours_overdue_and_looks_at_nothing_that_ended_meanwhile(
    bank, order, limit
):
    due = [bank.clock.now() + minutes * MINUTE for minutes in (5, 6, 30, 60, 119, 180)]
    overdue, ended, also, *others = [bank.registered(amount=1, due_at=at) for at in due]
    bank.clock.move(125 * MINUTE)
    notes = Notes()
    notes.close(bank.clock.now())
    notes._watermark = Watermark(minute=instants.minute_of(due[0]) - 1)
    for minute in range(instants.minute_of(due[0]), instants.minute_of(bank.clock.now()) - 60):
        notes.note(minute, Stage.AUDIT)
    for payment in (overdue, also):
        notes.note(payment.home.minute, Stage.CLOSE, waiting=1, group=0)
    sweep, looked_up, payments = unfinished(notes, bank.clock), [], bank.ledger.payments

    def counted(ids):
        ids = list(ids)
        looked_up.extend(ids)
        return payments(ids)

    bank.ledger.payments = counted
    cursor, found = None, []
    for _ in range(10):
        asked = {"status": "PENDING", "order": order, "limit": limit} | ({"cursor": cursor} if cursor else {})
        shown = page(PaymentQuery.of("demo", asked), bank.ledger, sweep, clock=bank.clock)
        found += shown.items
        if (cursor := shown.cursor) is None:
            break
    wanted = [overdue.id, also.id, others[1].id, others[2].id]
    assert [each.id for each in found] == (wanted if order == "asc" else wanted[::-1])
    assert ended.id not in looked_up


def test_another_tenant_sees_nothing(bank):
    registered(bank, [("payer", "payee")] * 3)
    bank.open("payer", tenant="other")
    assert pages(bank, "other") == [[]]
    assert pages(bank, "other", account_id="payer") == [[]]


def test_items_of_another_tenant_are_passed_over_whatever_the_index_says(bank):
    for id in ("payer", "payee"):
        bank.open(id, tenant="other")
    bank.give("payer", 1000, tenant="other")
    (theirs,) = bank.registrar.register("other", [order()])
    place = place_of(theirs.payment.planned_at, theirs.payment.id)
    bank.ledger.payments_listed = lambda wanted, *, after, limit: (
        [ListedPayment(place=place, id=theirs.payment.id)] if after < place else []
    )
    assert pages(bank, "other", account_id="payer") == [[theirs.payment]]
    assert pages(bank, account_id="payer") == [[]]


@pytest.mark.parametrize("account", ["nobody", "theirs", "", "a b", "a" * 3000])
def test_an_account_that_is_not_the_tenants_is_not_found(bank, account):
    bank.open("theirs", tenant="other")
    with pytest.raises(NotFound):
        pages(bank, account_id=account)


def test_a_tenant_without_accounts_has_no_payments(bank):
    assert pages(bank, "nobody") == [[]]


def test_a_page_that_takes_too_long_ends_and_goes_on_with_its_cursor(bank):
    made = [bank.registered(amount=1, due_at=FAR) for _ in range(450)]
    last = max(made, key=lambda payment: payment.id)  # all are planned for one instant
    bank.changer.cancel(ANYBODY, last.id, version=None)
    listed, looks = bank.ledger.payments_listed, []

    def slowly(wanted, *, after, limit):
        looks.append(after)
        bank.clock.move(2 * SECOND)
        return listed(replace(wanted, state=None), after=after, limit=limit)

    bank.ledger.payments_listed = slowly
    asked = {"account_id": "payer", "status": "CANCELLED"}
    found = page(PaymentQuery.of("demo", asked), bank.ledger, healthy(bank.clock), clock=bank.clock)
    assert (found.items, found.partial, len(looks)) == ([], True, 2)
    assert [each.id for each in page_after(bank, asked, found.cursor)] == [last.id]


def page_after(bank, asked, cursor):
    while cursor is not None:
        found, cursor = shown(bank, {**asked, "cursor": cursor})
        if found:
            return found
    return []


@pytest.mark.parametrize("after", ["task_1", "\x00", "x" * 256, "é" * 128, "x" * 5000, "\ud800", 7, None])
def test_a_cursor_that_was_made_up_is_refused(after):
    """One of more bytes than a key may have would be an error of DynamoDB."""
    span = PaymentQuery.of("demo", {}).span
    text = base64.urlsafe_b64encode(json.dumps([after, span.mark]).encode()).decode()
    with pytest.raises(ValidationFailed, match="cursor"):
        PaymentQuery.of("demo", {"cursor": text})


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"status": "pending"}, "status"),
        ({"status": "SUCCEEDED"}, "status"),
        ({"tag": "x"}, "tag"),
        ({"order": "newest"}, "order"),
        ({"from": "today"}, "from"),
        ({"until": "2026-11-18T10:05:00"}, "until"),
        ({"cursor": "no cursor"}, "cursor"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(parameters, field):
    with pytest.raises(ValidationFailed) as refused:
        PaymentQuery.of("demo", parameters)
    assert [name for name, _ in refused.value.fields] == [field]


@pytest.mark.parametrize(
    ("tenant", "parameters"),
    [
        ("other", {"account_id": "payer"}),
        ("demo", {}),
        ("demo", {"account_id": "payee"}),
        ("demo", {"account_id": "payer", "order": "desc"}),
        ("demo", {"account_id": "payer", "from": "2026-11-18T10:05:00Z"}),
        ("demo", {"account_id": "payer", "until": "2026-11-18T10:05:00Z"}),
        ("demo", {"account_id": "payer", "metadata.a": "b"}),
        ("demo", {"account_id": "payer", "status": "PENDING"}),
    ],
)
def test_a_cursor_of_another_tenant_or_another_query_is_refused(bank, tenant, parameters):
    registered(bank, [("payer", "payee")] * 3)
    _, cursor = shown(bank, {"account_id": "payer", "limit": "1"})
    PaymentQuery.of("demo", {"account_id": "payer", "cursor": cursor})
    with pytest.raises(ValidationFailed, match="cursor"):
        PaymentQuery.of(tenant, {**parameters, "cursor": cursor})


def test_a_cursor_of_another_list_is_refused():
    cursor = TaskQuery.of("demo", {}).span.cursor("task_1")
    with pytest.raises(ValidationFailed, match="cursor"):
        PaymentQuery.of("demo", {"cursor": cursor})
    cursor = Span.of({}, "accounts", "demo").cursor("a")
    with pytest.raises(ValidationFailed, match="cursor"):
        Span.of({"cursor": cursor}, "transactions", "demo")


def test_a_payment_that_was_moved_stands_once_and_by_its_new_instant(bank):
    first, second = bank.registered(due_at=FAR), bank.registered(due_at=FAR + MINUTE)
    bank.changer.edit(
        ANYBODY,
        first.id,
        version=None,
        due_at=FAR + timedelta(hours=1),
        amount=None,
        instant_field="scheduled_time",
    )
    assert ids(pages(bank)) == [second.id, first.id]
