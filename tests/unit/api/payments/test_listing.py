import base64
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.api.listing import Span
from functions.api.payments.listing import Query, accounts_max, page
from functions.api.tasks.listing import Query as TaskQuery
from postdate.domain.errors import NotFound, ValidationFailed
from postdate.domain.payment import State
from tests.unit.api.payments.conftest import ANYBODY, FAR, Bank, order
from tests.unit.doubles import MINUTE, SECOND

ACCOUNTS = ("payer", "payee", "third")


def pages(bank, tenant="demo", **parameters):
    """Page after page as a client asks for them."""
    cursor, found = None, []
    while cursor is not None or not found:
        asked = {**parameters, **({} if cursor is None else {"cursor": cursor})}
        payments, cursor = page(Query.of(tenant, asked), bank.ledger, clock=bank.clock)
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


@given(
    sides=SIDES,
    limit=st.integers(1, 20),
    account=st.sampled_from([None, *ACCOUNTS]),
    status=st.sampled_from([None, State.PENDING, State.CANCELLED, State.FAILED]),
)
def test_paging_shows_every_payment_of_either_side_exactly_once(sides, limit, account, status):
    bank = Bank()
    made = registered(bank, sides)
    asked = {"account_id": account, "status": status}
    found = pages(bank, limit=str(limit), **{name: value for name, value in asked.items() if value})
    wanted = [
        payment.id
        for payment in made
        if account in (None, payment.payer, payment.payee) and status in (None, payment.state)
    ]
    assert sorted(ids(found)) == sorted(wanted)
    assert all(len(payments) <= limit for payments in found)


def test_a_page_is_in_the_order_of_instants():
    bank = Bank()
    made = registered(bank, [("payer", "payee")] * 30)
    ((found),) = pages(bank, limit="100")
    assert [payment.planned_at for payment in found] == sorted(payment.planned_at for payment in made)


def test_pages_go_from_minute_to_minute():
    bank = Bank()
    registered(bank, [("payer", "payee")] * 30)
    minutes = [payment.home.minute for payments in pages(bank, limit="7") for payment in payments]
    assert minutes == sorted(minutes)


def test_another_tenant_sees_nothing(bank):
    registered(bank, [("payer", "payee")] * 3)
    bank.open("payer", tenant="other")
    assert pages(bank, "other") == [[]]
    assert pages(bank, "other", account_id="payer") == [[]]


def test_what_is_another_tenants_is_passed_over_whatever_the_index_says(bank):
    for id in ("payer", "payee"):
        bank.open(id, tenant="other")
    bank.give("payer", 1000, tenant="other")
    (theirs,) = bank.registrar.register("other", [order()])
    bank.ledger.payments_listed = lambda tenant, account, *, after, limit: (
        [theirs.payment.id] if after < theirs.payment.id else []
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


def test_a_tenant_with_many_accounts_has_to_name_one(bank):
    for number in range(97):
        bank.open(f"more-{number}")
    assert pages(bank) == [[]]
    bank.open("one-too-many")
    with pytest.raises(ValidationFailed) as refused:
        pages(bank)
    assert refused.value.fields == (("account_id", "is needed: the tenant has more than 100 accounts"),)
    assert pages(bank, account_id="payer") == [[]]


@pytest.mark.parametrize(("listing_shards", "most"), [(1, 100), (2, 100), (8, 25), (16, 12), (1000, 1)])
def test_as_many_accounts_are_listed_at_once_as_take_400_queries(listing_shards, most):
    assert accounts_max(listing_shards) == most


def test_a_tenant_with_more_accounts_than_that_is_told_how_many(bank):
    asked = Query.of("demo", {})
    assert page(asked, bank.ledger, clock=bank.clock, accounts_at_once=3) == ([], None)
    with pytest.raises(ValidationFailed, match="more than 2 accounts"):
        page(asked, bank.ledger, clock=bank.clock, accounts_at_once=2)


def test_a_page_that_takes_too_long_ends_and_goes_on_with_its_cursor(bank):
    made = [bank.registered(amount=1, due_at=FAR) for _ in range(450)]
    last = max(made, key=lambda payment: payment.id)
    bank.changer.cancel(ANYBODY, last.id, version=None)
    listed, looks = bank.ledger.payments_listed, []

    def slowly(tenant, account, *, after, limit):
        looks.append(after)
        bank.clock.move(3 * SECOND)
        return listed(tenant, account, after=after, limit=limit)

    bank.ledger.payments_listed = slowly
    asked = {"account_id": "payer", "status": "CANCELLED"}
    found, cursor = page(Query.of("demo", asked), bank.ledger, clock=bank.clock)
    assert (found, len(looks)) == ([], 2)
    assert [each.id for each in page_after(bank, asked, cursor)] == [last.id]


def page_after(bank, asked, cursor):
    while cursor is not None:
        found, cursor = page(Query.of("demo", {**asked, "cursor": cursor}), bank.ledger, clock=bank.clock)
        if found:
            return found
    return []


@pytest.mark.parametrize("after", ["x" * 256, "é" * 128, "x" * 5000, "\ud800", 7, None])
def test_a_cursor_that_was_made_up_is_refused(after):
    """One of more bytes than a key may have would be an error of DynamoDB."""
    span = Query.of("demo", {}).span
    text = base64.urlsafe_b64encode(json.dumps([after, span.mark]).encode()).decode()
    with pytest.raises(ValidationFailed, match="cursor"):
        Query.of("demo", {"cursor": text})


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"status": "pending"}, "status"),
        ({"status": "SUCCEEDED"}, "status"),
        ({"tag": "x"}, "tag"),
        ({"cursor": "no cursor"}, "cursor"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(parameters, field):
    with pytest.raises(ValidationFailed) as refused:
        Query.of("demo", parameters)
    assert [name for name, _ in refused.value.fields] == [field]


@pytest.mark.parametrize(
    ("tenant", "parameters"),
    [
        ("other", {"account_id": "payer"}),
        ("demo", {}),
        ("demo", {"account_id": "payee"}),
        ("demo", {"account_id": "payer", "status": "PENDING"}),
    ],
)
def test_a_cursor_of_another_tenant_or_another_query_is_refused(bank, tenant, parameters):
    registered(bank, [("payer", "payee")] * 3)
    _, cursor = page(Query.of("demo", {"account_id": "payer", "limit": "1"}), bank.ledger, clock=bank.clock)
    Query.of("demo", {"account_id": "payer", "cursor": cursor})
    with pytest.raises(ValidationFailed, match="cursor"):
        Query.of(tenant, {**parameters, "cursor": cursor})


def test_a_cursor_of_another_list_is_refused():
    cursor = TaskQuery.of("demo", {}).span.cursor("task_1")
    with pytest.raises(ValidationFailed, match="cursor"):
        Query.of("demo", {"cursor": cursor})
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
