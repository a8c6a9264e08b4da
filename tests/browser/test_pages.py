"""The pages beside payments: tasks, runs, accounts, and the forms for what is new."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, WIDE, Console, Money, action, until
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import receiving

DONE_WITHIN_MS: Final = 60_000
MAY_BE_DONE: Final = "The first request may have been carried out."


def sqs(stack: RunningStack) -> dict[str, Any]:
    return {"type": "sqs", "queue_url": stack.destination_queue_url}


def task(stack: RunningStack, **fields: Any) -> str:
    """The id of a new task, an hour from now unless said otherwise."""
    given = {"target": sqs(stack), "payload": {"n": 1}, "name": f"browser-{time.time_ns()}"} | fields
    if not {"cron", "delay_seconds"} & set(fields):
        given["delay_seconds"] = 3_600
    answer = stack.client().post("/api/v1/tasks", given)
    task_id: str = answer.expect(201)["task_id"]
    return task_id


def status(stack: RunningStack, task_id: str) -> str:
    found: str = stack.client().get(f"/api/v1/tasks/{task_id}").expect(200)["status"]
    return found


def later(**ahead: float) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M:%S")


class TestATask:
    def test_is_seen_to_succeed(self, console: Console) -> None:
        page = console.open()
        console.go(f"tasks/{task(console.stack, delay_seconds=5)}")
        expect(page.locator(".lead")).to_contain_text("PENDING")
        expect(page.locator(".lead")).to_contain_text("SUCCEEDED", timeout=DONE_WITHIN_MS)
        expect(page.locator(".timeline")).to_contain_text("RUNNING")
        expect(page.get_by_role("table", name="Attempts")).to_contain_text("SUCCEEDED")
        for button in page.get_by_role("group", name="Actions").get_by_role("button").all():
            expect(button).to_be_disabled()

    def test_is_rescheduled_and_cancelled(self, console: Console) -> None:
        task_id = task(console.stack)
        page = console.open(at=f"tasks/{task_id}")
        page.get_by_role("button", name="Reschedule").click()
        page.get_by_label("Planned for (UTC)").fill(at := later(hours=3))
        page.get_by_role("dialog").get_by_role("button", name="Reschedule").click()
        expect(page.get_by_role("main").locator(".facts")).to_contain_text(at.replace("T", " "))
        action(page, "Cancel task")
        expect(page.locator(".lead")).to_contain_text("CANCELLED")
        assert status(console.stack, task_id) == "CANCELLED"

    def test_that_is_dead_is_retried(self, console: Console) -> None:
        with receiving() as receiver:
            target = {"type": "webhook", "url": f"{receiver.url}/status/422"}
            task_id = task(console.stack, delay_seconds=0, target=target)
            page = console.open(at=f"tasks/{task_id}")
            expect(page.locator(".lead")).to_contain_text("DEAD", timeout=DONE_WITHIN_MS)
            expect(page.get_by_role("table", name="Attempts")).to_contain_text("422")
            action(page, "Retry")
            assert len(receiver.wait_for(task_id, 2, seconds=60)) == 2

    def test_is_found_by_its_name_and_state(self, console: Console) -> None:
        name = f"browser-{time.time_ns()}"
        task_id = task(console.stack, name=name)
        task(console.stack)
        page = console.open(at="tasks")
        page.get_by_label("Name").fill(name)
        page.get_by_role("button", name="Filter").click()
        expect(page.locator("[data-row]")).to_have_count(1)
        expect(page.locator("[data-row]")).to_contain_text(task_id)
        page.get_by_label("Status").select_option("DEAD")
        expect(page.get_by_text("No task matches the filters.")).to_be_visible()


class TestAPlan:
    def test_is_paused_resumed_run_now_and_cancelled(self, console: Console) -> None:
        task_id = task(console.stack, cron="0 6 * * *", timezone="Europe/Rome")
        page = console.open(at=f"tasks/{task_id}")
        expect(page.get_by_role("table", name="Next instants").locator("tbody tr")).to_have_count(5)
        page.get_by_role("button", name="Pause").click()
        page.get_by_label("Reason").fill("the partner is closed")
        page.get_by_role("dialog").get_by_role("button", name="Pause").click()
        expect(page.locator(".lead")).to_contain_text("PAUSED the partner is closed")
        action(page, "Resume")
        expect(page.locator(".lead")).to_contain_text("ACTIVE")
        action(page, "Run now")
        runs = page.get_by_role("table", name="Runs")
        expect(runs).to_contain_text("SUCCEEDED", timeout=DONE_WITHIN_MS)
        runs.locator("[data-row]", has_text="SUCCEEDED").get_by_role("link").first.click()
        expect(page.get_by_role("heading", name="Run", exact=True)).to_be_visible()
        expect(page.locator(".lead")).to_contain_text("SUCCEEDED")
        page.get_by_role("link", name=task_id).click()
        action(page, "Cancel task")
        expect(page.locator(".lead")).to_contain_text("CANCELLED")
        for button in page.get_by_role("group", name="Actions").get_by_role("button").all():
            expect(button).to_be_disabled()

    def test_shows_that_a_backfill_has_a_key(self, console: Console) -> None:
        """After a lost answer the same form starts no second backfill."""
        page = console.open(at=f"tasks/{task(console.stack, cron='0 6 * * *')}")
        page.get_by_role("button", name="Backfill").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("From (UTC)").fill(later(days=-2))
        dialog.get_by_label("To (UTC)").fill(later(days=-1))
        expect(dialog.locator(".command pre")).to_contain_text("Idempotency-Key: ")

    def test_whose_run_is_dead_is_found_by_state_and_retried(self, console: Console) -> None:
        with receiving() as receiver:
            target = {"type": "webhook", "url": f"{receiver.url}/status/422"}
            task_id = task(console.stack, cron="0 6 * * *", target=target)
            path = f"/api/v1/tasks/{task_id}/trigger"
            run_id = console.stack.client().post(path, None).expect(202, 201, 200)["run_id"]
            page = console.open(at=f"runs/{run_id}")
            expect(page.locator(".lead")).to_contain_text("DEAD", timeout=DONE_WITHIN_MS)
            console.go("tasks?status=DEAD")
            page.locator("[data-row]", has_text=run_id).get_by_role("link").first.click()
            expect(page.get_by_role("heading", name="Run", exact=True)).to_be_visible()
            action(page, "Retry")
            assert len(receiver.wait_for(task_id, 2, seconds=60)) == 2


class TestAnAccount:
    def test_shows_its_money_its_journal_and_what_is_to_come(self, console: Console, money: Money) -> None:
        money.pay(delay_seconds=86_400, amount=1_000)
        page = console.open(at=f"accounts/{money.payer}")
        expect(page.get_by_role("table", name="Journal")).to_contain_text("+900,000")
        expect(page.get_by_role("img", name="Balance until")).to_be_visible()
        page.get_by_text("As a table").click()
        expect(page.get_by_role("table", name="Planned movements")).to_contain_text("-1,000")
        page.get_by_role("link", name="Payments of this account").click()
        expect(page.locator("[data-row]").first).to_contain_text(money.payer)

    def test_is_frozen_and_unfrozen_by_an_administrator_only(self, console: Console, money: Money) -> None:
        page = console.open(at=f"accounts/{money.payee}")
        expect(page.get_by_role("button", name="Freeze", exact=True)).to_be_disabled()
        page.get_by_role("button", name="Sign out").click()
        page = console.open(console.stack.admin_key, f"accounts/{money.payee}")
        action(page, "Freeze")
        expect(page.locator(".lead")).to_contain_text("FROZEN")
        action(page, "Unfreeze")
        expect(page.locator(".lead")).to_contain_text("ACTIVE")

    def test_that_is_closed_keeps_its_limit(self, console: Console) -> None:
        admin = console.stack.client(console.stack.admin_key)
        name = f"browser-{time.time_ns()}"
        admin.post("/api/v1/accounts", {"account_id": name}).expect(201)
        page = console.open(console.stack.admin_key, f"accounts/{name}")
        expect(page.get_by_role("button", name="Change limit")).to_be_enabled()
        admin.post(f"/api/v1/accounts/{name}/close", None).expect(200)
        expect(page.locator(".lead")).to_contain_text("CLOSED")
        expect(page.get_by_role("button", name="Change limit")).to_be_disabled()

    def test_gets_a_deposit_once(self, console: Console, money: Money) -> None:
        page = console.open(console.stack.admin_key, f"accounts/{money.payee}")
        before = console.stack.client().get(f"/api/v1/accounts/{money.payee}").expect(200)["balance"]
        page.get_by_role("button", name="Deposit").click()
        page.get_by_label("Amount").fill("123")
        page.get_by_role("dialog").get_by_role("button", name="Deposit").click()
        expect(page.locator(".lead")).to_contain_text(f"{before + 123:,}")


def payment_typed(console: Console, money: Money) -> Page:
    """The form for a new payment with all its fields, not sent."""
    page = console.open(at="new?kind=payment")
    page.get_by_label("From account").fill(money.payer)
    page.get_by_label("To account").fill(money.payee)
    page.get_by_label("Amount").fill("77")
    page.get_by_label("Instant (UTC)").fill(later(hours=1))
    return page


def losing_the_first_answer(page: Page) -> list[str]:
    """The id of the first payment that is registered from now on. The page does not get its answer."""
    lost: list[str] = []

    def lose(route: Any) -> None:
        if not lost:
            lost.append(route.fetch().json()["payment_id"])
            route.abort()
        else:
            route.continue_()

    page.route("**/payments/schedule", lose)
    return lost


class TestNew:
    def test_a_payment_is_registered_once_however_often_it_is_sent(
        self, console: Console, money: Money
    ) -> None:
        page = payment_typed(console, money)
        lost = losing_the_first_answer(page)
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
        page.get_by_role("button", name="Register").click()
        expect(page.locator(".lead")).to_contain_text("PENDING")
        assert page.url.endswith(lost[0])
        console.complaints.clear()

    def test_a_payment_that_is_typed_again_after_a_lost_answer_is_the_same(
        self, console: Console, money: Money
    ) -> None:
        page = payment_typed(console, money)
        lost = losing_the_first_answer(page)
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
        expect(page.get_by_text(MAY_BE_DONE)).to_have_count(0)
        page.get_by_label("Amount").fill("78")
        expect(page.get_by_text(MAY_BE_DONE)).to_be_visible()
        page.get_by_label("Amount").fill("77")
        expect(page.get_by_text(MAY_BE_DONE)).to_have_count(0)
        page.get_by_role("button", name="Register").click()
        expect(page.locator(".lead")).to_contain_text("PENDING")
        assert page.url.endswith(lost[0])
        console.complaints.clear()

    @pytest.mark.parametrize(("refusal", "warnings"), [(503, 1), (422, 0)])
    def test_another_payment_after_an_unclear_answer_comes_with_a_warning(
        self, console: Console, money: Money, refusal: int, warnings: int
    ) -> None:
        page = payment_typed(console, money)
        told = json.dumps({"code": "a_code", "detail": "A refusal."})
        page.route("**/payments/schedule", lambda route: route.fulfill(status=refusal, body=told))
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("alert")).to_contain_text("A refusal.")
        page.get_by_label("Amount").fill("78")
        expect(page.locator(".command").first).to_contain_text('"amount":78')
        expect(page.get_by_text(MAY_BE_DONE)).to_have_count(warnings)

    def test_a_task_goes_where_it_is_told_to(self, console: Console) -> None:
        page = console.open(at="new?kind=task")
        page.get_by_label("Instant (UTC)").fill(later(seconds=4))
        page.get_by_label("Target").select_option("sqs")
        page.get_by_label("Address").fill(console.stack.destination_queue_url)
        page.get_by_label("Payload (JSON)").fill('{"exact": 12345678901234567890}')
        expect(page.locator(".command")).to_have_count(2)
        for shown in page.locator(".command").all():
            expect(shown).to_contain_text("12345678901234567890")
        page.get_by_role("button", name="Register").click()
        expect(page.locator(".lead")).to_contain_text("SUCCEEDED", timeout=DONE_WITHIN_MS)

    def test_a_plan_is_previewed_over_a_change_of_clocks(self, console: Console) -> None:
        page = console.open(at="new?kind=cron")
        page.get_by_label("Cron", exact=True).fill("30 2 28 3 *")
        page.get_by_label("Time zone").fill("Europe/Berlin")
        preview = page.get_by_role("table", name="Next instants")
        expect(preview).to_contain_text("02:30 does not exist")
        page.get_by_label("Cron", exact=True).fill("nonsense")
        expect(page.get_by_role("alert").first).to_be_visible()

    def test_a_field_that_is_refused_is_named(self, console: Console, money: Money) -> None:
        page = console.open(at="new?kind=payment")
        page.get_by_label("From account").fill(money.payer)
        page.get_by_label("To account").fill("nobody-there")
        page.get_by_label("Amount").fill("1")
        page.get_by_label("Instant (UTC)").fill("2020-01-01T00:00:00")
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("alert")).to_contain_text("scheduled_time")

    def test_a_read_only_key_registers_nothing(self, console: Console, read_only_key: str) -> None:
        page = console.open(read_only_key)
        for kind in ("payment", "task", "cron"):
            console.go(f"new?kind={kind}")
            expect(page.get_by_role("button", name="Register")).to_be_disabled()


def opened_places(console: Console, money: Money) -> dict[str, Callable[[Page], Any]]:
    """Each page with the text to wait for."""
    dead = task(console.stack)
    plan = task(console.stack, cron="0 6 * * *")
    return {
        "tasks": lambda page: page.locator("[data-row]").first,
        f"tasks/{dead}": lambda page: page.locator(".timeline li").first,
        f"tasks/{plan}": lambda page: page.get_by_role("table", name="Next instants"),
        "accounts": lambda page: page.locator("[data-row]").first,
        f"accounts/{money.payer}": lambda page: page.get_by_role("table", name="Journal"),
        "new?kind=payment": lambda page: page.get_by_label("Amount"),
        "new?kind=task": lambda page: page.get_by_label("Payload (JSON)"),
        "new?kind=cron": lambda page: page.get_by_role("table", name="Next instants"),
        "now": lambda page: page.get_by_role("table", name="Due next"),
        "nothing": lambda page: page.get_by_text("No such page"),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "320"])
def test_axe_finds_no_violation_on_any_page(
    opened: Callable[..., Console], money: Money, size: tuple[int, int], scheme: str
) -> None:
    console = opened(size, color_scheme=scheme)
    page = console.open()
    for place, there in opened_places(console, money).items():
        console.go(place)
        expect(there(page)).to_be_visible()
        assert (place, console.violations(), console.overflow()) == (place, [], 0)
        if place == "now":
            console.picture(f"now-{size[0]}-{scheme}")


class TestNow:
    def test_shows_the_last_hour_and_what_is_to_come(self, console: Console, money: Money) -> None:
        amount = 7_000 + time.time_ns() % 1_000
        payment = money.pay(delay_seconds=20, amount=amount)
        page = console.open(at="now")
        for title in ("Tasks, the last hour", "Payments, the last hour", "Payments to come"):
            expect(page.get_by_role("heading", name=title)).to_be_visible()
        upcoming = page.get_by_role("table", name="Payments to come")
        expect(upcoming).to_contain_text(f"{amount:,}")
        expect(upcoming).not_to_contain_text(f"{amount:,}", timeout=60_000)
        assert money.status(payment) == "COMPLETED"

    def test_an_operator_sees_the_service_and_a_tenant_does_not(self, console: Console) -> None:
        page = console.open(console.stack.operator_key, "now", tenant="demo")
        expect(page.get_by_role("table", name="Queues")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        page = console.open(at="now")
        expect(page.get_by_role("heading", name="Payments to come")).to_be_visible()
        expect(page.get_by_role("table", name="Queues")).to_have_count(0)


class TestAKey:
    def test_is_made_shown_once_rotated_and_revoked(self, console: Console) -> None:
        page = console.open(console.stack.admin_key, "keys")
        page.get_by_role("button", name="Make a key").click()
        page.get_by_label("Name").fill(name := f"browser-{time.time_ns()}")
        page.get_by_label("Scopes").fill("payments:read accounts:read")
        page.get_by_role("dialog").get_by_role("button", name="Make a key").click()
        made = page.locator(".made pre").inner_text()
        assert console.stack.client(made).get("/api/v1/payments").status == 200
        page.get_by_role("link", name=name).click()
        expect(page.locator(".lead")).to_contain_text(f"ACTIVE {name}")
        expect(page.locator(".made")).to_have_count(0)
        page.get_by_role("button", name="Rotate").click()
        page.get_by_label("Overlap (seconds)").fill("0")
        page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
        rotated = page.locator(".made pre").inner_text()
        assert rotated != made
        action(page, "Revoke")
        expect(page.locator(".lead")).to_contain_text("REVOKED")
        client = console.stack.client(rotated)
        until(page, lambda: client.get("/api/v1/payments").status == 401)
        expect(page.get_by_role("button", name="Rotate")).to_be_disabled()

    def test_without_the_scope_there_is_no_such_page_to_go_to(self, console: Console) -> None:
        page = console.open(console.stack.other_tenant_key)
        has_keys = page.evaluate("document.querySelector('.who span').title").split()
        assert ("keys:read" in has_keys) == (page.get_by_role("link", name="Keys", exact=True).count() == 1)
        console.go("keys/unknown")
        expect(page.get_by_role("alert")).to_be_visible()
