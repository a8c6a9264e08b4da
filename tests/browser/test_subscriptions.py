"""Subscriptions in the console: made, tested, paused, resumed, rotated, replayed and ended, with their deliveries."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE, Console, Money, action, until
from tests.browser.test_console import ran
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver, receiving

PATH: Final = "/api/v1/subscriptions"
DONE_WITHIN_MS: Final = 60_000
STEPS: Final = ("pause", "resume", "test", "rotate", "replay")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def made(stack: RunningStack, url: str, **fields: Any) -> str:
    """The id of a new subscription."""
    form = {"target": {"type": "webhook", "url": url}, "types": ["payment.*"], **fields}
    id: str = stack.client().post(PATH, form).expect(201)["subscription_id"]
    return id


def deliveries(page: Page) -> Locator:
    return page.get_by_role("table", name="Deliveries").locator("[data-row]")


def state(page: Page) -> Locator:
    return page.locator(".lead .state")


class TestASubscription:
    def test_tells_of_a_payment_from_the_moment_it_is_made(
        self, console: Console, money: Money, receiver: Receiver
    ) -> None:
        page = console.open(at="subscriptions")
        page.get_by_role("button", name="Subscribe").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Address").fill(receiver.url)
        dialog.get_by_label("Types").fill("payment.scheduled payment.cancelled")
        dialog.get_by_label("Only about account").fill(money.payee)
        dialog.get_by_role("button", name="Subscribe").click()
        expect(page.locator(".made pre")).to_contain_text("whsec_")
        page.locator("[data-row]", has_text=receiver.url).get_by_role("link").click()
        expect(state(page)).to_contain_text("ACTIVE")
        expect(page.locator(".made")).to_have_count(0)
        payment = money.pay(delay_seconds=600)
        expect(deliveries(page)).to_have_count(1, timeout=DONE_WITHIN_MS)
        expect(deliveries(page).first).to_contain_text("SUCCEEDED", timeout=DONE_WITHIN_MS)
        assert payment in receiver.arrivals[0].body.decode()
        deliveries(page).first.get_by_role("link").click()
        expect(page.locator(".lead")).to_contain_text("payment.scheduled")

    def test_is_paused_resumed_rotated_and_ended(self, console: Console, receiver: Receiver) -> None:
        page = console.open(at=f"subscriptions/{made(console.stack, receiver.url)}")
        action(page, "Pause")
        expect(state(page)).to_contain_text("PAUSED")
        action(page, "Resume")
        expect(state(page)).to_contain_text("ACTIVE")
        action(page, "Rotate secret")
        expect(page.locator(".made pre")).to_contain_text("whsec_")
        action(page, "Send a test")
        expect(deliveries(page).first).to_contain_text("a test", timeout=DONE_WITHIN_MS)
        expect(deliveries(page).first).to_contain_text("SUCCEEDED", timeout=DONE_WITHIN_MS)
        action(page, "Delete")
        expect(state(page)).to_contain_text("ENDED")
        for button in page.get_by_role("group", name="Actions").get_by_role("button").all():
            expect(button).to_be_disabled()

    def test_replays_what_failed(self, console: Console, money: Money, receiver: Receiver) -> None:
        filter = {"account_id": money.payer}
        id = made(console.stack, f"{receiver.url}/status/422", filter=filter, types=["payment.scheduled"])
        payment = money.pay(delay_seconds=600)
        page = console.open(at=f"subscriptions/{id}?status=DEAD")
        expect(deliveries(page)).to_have_count(1, timeout=DONE_WITHIN_MS)
        page.reload()
        expect(deliveries(page)).to_have_count(1)
        page.get_by_role("button", name="Replay").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Since").fill(f"{datetime.now(UTC) - timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}")
        dialog.get_by_label("Which").select_option("only failed")
        dialog.get_by_role("button", name="Replay").click()
        until(page, lambda: len(receiver.arrivals) >= 2)
        assert all(payment in each.body.decode() for each in receiver.arrivals)

    def test_changes_by_the_command_that_is_shown(self, console: Console, receiver: Receiver) -> None:
        page = console.open(at=f"subscriptions/{made(console.stack, receiver.url)}")
        page.get_by_role("button", name="Change types").click()
        page.get_by_role("dialog").get_by_label("Types").fill("task.dead, run.dead")
        ran(page.locator(".command pre").inner_text(), console.stack.api_key)
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        expect(page.get_by_role("main").locator(".facts")).to_contain_text("task.dead run.dead")

    def test_a_read_only_key_finds_no_action_enabled_and_the_api_refuses_each(
        self, console: Console, receiver: Receiver, read_only_key: str
    ) -> None:
        id = made(console.stack, receiver.url)
        page = console.open(read_only_key, f"subscriptions/{id}")
        buttons = page.get_by_role("group", name="Actions").get_by_role("button")
        expect(buttons).to_have_count(7)
        for button in buttons.all():
            expect(button).to_be_disabled()
        client = console.stack.client(read_only_key)
        refused = [client.post(f"{PATH}/{id}/{step}", {}).status for step in STEPS]
        refused += [client.patch(f"{PATH}/{id}", {}).status, client.delete(f"{PATH}/{id}").status]
        assert refused == [403] * 7

    def test_another_tenant_sees_nothing_of_it(self, console: Console, receiver: Receiver) -> None:
        id = made(console.stack, receiver.url)
        page = console.open(console.stack.other_tenant_key, "subscriptions")
        expect(page.get_by_text("No subscription.")).to_be_visible()
        console.go(f"subscriptions/{id}")
        expect(page.get_by_role("alert")).to_contain_text("There is nothing here")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "320"])
def test_axe_finds_no_violation_on_subscriptions(
    opened: Callable[..., Console], receiver: Receiver, size: tuple[int, int], scheme: str
) -> None:
    console = opened(size, color_scheme=scheme)
    id = made(console.stack, receiver.url, description="billing")
    console.stack.client().post(f"{PATH}/{id}/test", {}).expect(202)
    page = console.open(at=f"subscriptions/{id}")
    expect(deliveries(page).first).to_be_visible(timeout=DONE_WITHIN_MS)
    assert (console.violations(), console.overflow()) == ([], 0)
    console.picture(f"subscription-{size[0]}-{scheme}")
    page.get_by_role("button", name="Replay").click()
    assert (console.violations(), console.overflow()) == ([], 0)
    page.keyboard.press("Escape")
    console.go("subscriptions")
    expect(page.locator("[data-row]").first).to_be_visible()
    assert (console.violations(), console.overflow()) == ([], 0)
    page.get_by_role("button", name="Subscribe").click()
    assert (console.violations(), console.overflow()) == ([], 0)
