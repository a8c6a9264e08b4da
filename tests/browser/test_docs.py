"""The page /docs: groups, search, requests with the key of the tab, receivers and events, at both widths."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from postdate.domain import event_types
from tests.browser.conftest import NARROW, WIDE, Console, Money
from tests.browser.test_console import ran


def docs(console: Console, at: str = "") -> Page:
    console.page.goto(f"{console.stack.docs_url}{at}")
    expect(console.page.get_by_role("heading", name="Key of this tab")).to_be_visible()
    return console.page


def trial(page: Page, operation: str) -> Locator:
    """The form that tries an operation, opened."""
    section = page.locator(f"section:has(h3[id='{operation}'])")
    section.get_by_text("Try it", exact=True).click()
    return section.locator(".trial")


class TestSearch:
    def test_finds_operations_by_words_and_hides_groups_without_any(self, console: Console) -> None:
        page = docs(console)
        page.get_by_label("Search").fill("subscription rotate")
        expect(page.get_by_text("1 found")).to_be_visible()
        expect(page.locator("h3[id='rotateSubscriptionSecret']")).to_be_visible()
        expect(page.locator("h3[id='getPayment']")).to_be_hidden()
        expect(page.get_by_role("navigation").get_by_role("heading", name="payments")).to_be_hidden()
        page.get_by_label("Search").fill("nothing has this")
        expect(page.get_by_text("0 found")).to_be_visible()
        page.get_by_label("Search").fill("")
        expect(page.locator("h3[id='getPayment']")).to_be_visible()

    def test_a_link_to_an_error_opens_its_section(self, console: Console) -> None:
        page = docs(console, "#insufficient_funds")
        expect(page.locator("h3[id='insufficient_funds']")).to_be_in_viewport()


class TestTryIt:
    def test_reads_with_the_key_that_the_console_keeps(self, console: Console, money: Money) -> None:
        payment = money.pay(delay_seconds=600)
        console.open()
        form = trial(docs(console), "getPayment")
        form.get_by_label("payment_id").fill(payment)
        form.get_by_role("button", name="Send GET").click()
        answer = form.get_by_role("status")
        expect(answer).to_contain_text("200")
        expect(answer).to_contain_text(payment)
        assert console.stack.api_key not in console.page.content()
        ran(form.locator("pre").first.inner_text(), console.stack.api_key)

    def test_registers_once_with_the_key_that_is_typed(self, console: Console, money: Money) -> None:
        page = docs(console)
        page.get_by_label("API key").fill(console.stack.api_key)
        form = trial(page, "schedulePayment")
        payment = {
            "from_account_id": money.payer,
            "to_account_id": money.payee,
            "amount": 5,
            "delay_seconds": 600,
        }
        form.get_by_label("Body").fill(json.dumps(payment))
        answer = form.get_by_role("status")
        form.get_by_role("button", name="Send POST").click()
        expect(answer).to_contain_text("payment_id")
        first = answer.inner_text()
        form.get_by_role("button", name="Send POST").click()
        expect(answer).to_contain_text("payment_id")
        expect(answer).to_have_text(first)

    def test_a_refusal_is_shown(self, console: Console) -> None:
        page = docs(console)
        page.get_by_label("API key").fill(console.stack.other_tenant_key)
        form = trial(page, "getServiceOverview")
        form.get_by_role("button", name="Send GET").click()
        expect(form.get_by_role("status")).to_contain_text("403")
        expect(form.get_by_role("status")).to_contain_text('"code": "forbidden"')


def test_events_and_the_contract_of_receivers_are_there(console: Console) -> None:
    page = docs(console)
    for name in ("Receivers", "Events"):
        expect(page.get_by_role("main").get_by_role("heading", name=name, exact=True)).to_be_visible()
    text = page.get_by_role("main").inner_text()
    assert [each for each in event_types.TYPES if each not in text] == []
    assert "webhook-signature" in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "320"])
def test_axe_finds_no_violation_on_the_page(
    opened: Callable[..., Console], size: tuple[int, int], scheme: str
) -> None:
    console = opened(size, color_scheme=scheme)
    page = docs(console)
    trial(page, "schedulePayment")
    expect(page.get_by_role("button", name="Send POST")).to_be_visible()
    assert (console.violations(), console.overflow()) == ([], 0)
    console.picture(f"docs-{size[0]}-{scheme}")
