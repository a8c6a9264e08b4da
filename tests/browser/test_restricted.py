"""A restricted key in the console: other actions than its own are disabled, with a reason, and the API refuses them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Console, Money, action
from tests.e2e.conftest import RunningStack

WRITES = ("payments:read", "payments:write", "tasks:read", "tasks:write")


def key(stack: RunningStack, *scopes: str, **restrictions: Any) -> str:
    form = {"name": "restricted", "scopes": list(scopes or WRITES), **restrictions}
    text: str = stack.client(stack.admin_key).post("/api/v1/keys", form).expect(201)["key"]
    return text


def order(page: Page, payer: str, payee: str, amount: int) -> Locator:
    """The button that registers the payment that is typed."""
    for label, value in {"From account": payer, "To account": payee, "Amount": str(amount)}.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Instant (UTC)").fill(f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%S}")
    return page.get_by_role("button", name="Register")


def is_refused(button: Locator, reason: str) -> None:
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("title", re.compile(re.escape(reason)))


class TestAKeyOfOneAction:
    def test_finds_its_form_and_no_other(self, console: Console, money: Money) -> None:
        stack = console.stack
        text = key(stack, actions=["schedulePayment"])
        page = console.open(text)
        expect(page.get_by_role("navigation", name="Pages of the console").get_by_role("link")).to_have_text(
            ["Now", "New"]
        )
        console.go("new?kind=task")
        is_refused(page.get_by_role("button", name="Register"), "registerTask")
        task = {"delay_seconds": 9, "target": {"type": "sqs", "queue_url": stack.destination_queue_url}}
        assert stack.client(text).post("/api/v1/tasks", task).status == 403
        console.go("new?kind=payment")
        register = order(page, money.payer, money.payee, 7)
        register.click()
        # It may register the payment and not look at it.
        expect(page.get_by_role("alert").first).to_contain_text("This key may not see this.")
        assert money.status(page.url.rpartition("/")[2]) == "PENDING"

    def test_finds_its_button_enabled_among_disabled_ones(self, console: Console, money: Money) -> None:
        payment = money.pay(delay_seconds=600)
        text = key(console.stack, actions=["getPayment", "cancelPaymentByPost"])
        page = console.open(text, f"payments/{payment}")
        buttons = page.get_by_role("group", name="Actions")
        for name in ("Reschedule", "Change amount"):
            is_refused(buttons.get_by_role("button", name=name), "This key may not ask for changePayment.")
        assert console.stack.client(text).patch(f"/api/v1/payments/{payment}", {"amount": 1}).status == 403
        action(page, "Cancel payment")
        expect(page.locator(".lead")).to_contain_text("CANCELLED")
        assert money.status(payment) == "CANCELLED"


def test_a_key_of_one_account_finds_only_what_it_may_pay(console: Console, money: Money) -> None:
    others = money.pay(delay_seconds=600)
    text = key(console.stack, account_ids=[money.payee], amount_max=100)
    page = console.open(text, f"payments/{others}")
    buttons = page.get_by_role("group", name="Actions").get_by_role("button")
    expect(buttons).to_have_count(3)
    for button in buttons.all():
        is_refused(button, f"This key is not for the account {money.payer}.")
    assert console.stack.client(text).post(f"/api/v1/payments/{others}/cancel", None).status == 403
    console.go("new?kind=payment")
    is_refused(order(page, money.payer, money.payee, 1), f"This key is not for the account {money.payer}.")
    is_refused(order(page, money.payee, money.payer, 101), "This key pays at most 100.")
    expect(order(page, money.payee, money.payer, 100)).to_be_enabled()


def test_a_changed_amount_stays_within_the_limit_of_the_key(console: Console, money: Money) -> None:
    payment = money.pay(delay_seconds=600)
    page = console.open(key(console.stack, amount_per_day_max=300), f"payments/{payment}")
    page.get_by_role("button", name="Change amount").click()
    dialog = page.get_by_role("dialog")
    change = dialog.get_by_role("button", name="Change amount")
    dialog.get_by_label("Amount", exact=True).fill("301")
    is_refused(change, "This key pays at most 300.")
    dialog.get_by_label("Amount", exact=True).fill("299")
    change.click()
    expect(page.get_by_role("main").locator(".facts")).to_contain_text("299")


@pytest.mark.parametrize("restriction", [{"account_ids": ["rent"]}, {"actions": ["listKeys", "makeKey"]}])
def test_a_restricted_key_makes_no_key_in_the_console(console: Console, restriction: dict[str, Any]) -> None:
    """The form for a new key names no restriction, and the API refuses a key without the restrictions of its maker."""
    text = key(console.stack, "keys:read", "keys:write", **restriction)
    page = console.open(text, "keys")
    is_refused(page.get_by_role("button", name="Make a key"), "A restricted key makes no key here.")
    form = {"name": "more", "scopes": ["keys:read"]}
    assert console.stack.client(text).post("/api/v1/keys", form).status == 403
