"""Plans and their runs: the page of all runs, a change of a cron, the call in Python, and filters by metadata."""

import os
import subprocess
import sys
import time

from playwright.sync_api import Page, expect

from tests.browser.conftest import Console, Money, action
from tests.browser.test_pages import DONE_WITHIN_MS, later, task


def python_shown(page: Page) -> str:
    return page.get_by_role("figure").filter(has_text="a call in Python").locator("pre").inner_text()


def ran(code: str, key: str) -> None:
    """Runs a call of the Python client as the console shows it."""
    told = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"POSTDATE_KEY": key, "PYTHONPATH": "client"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr


class TestRuns:
    def test_of_all_plans_are_listed_and_filtered(self, console: Console) -> None:
        ours, other = (task(console.stack, cron="0 6 * * *", timezone="Europe/Rome") for _ in range(2))
        run_id = (
            console.stack.client().post(f"/api/v1/tasks/{ours}/trigger", None).expect(202, 201, 200)["run_id"]
        )
        page = console.open(at="runs")
        rows = page.locator("[data-row]")
        for plan in (ours, other):
            expect(rows.filter(has_text=plan).first).to_be_visible()
        instants = page.locator("[data-row] td:first-child time").evaluate_all(
            "all => all.map(each => each.dateTime)"
        )
        assert instants == sorted(instants, reverse=True)
        page.get_by_label("Task").fill(ours)
        page.get_by_role("button", name="Filter").click()
        expect(rows).to_have_count(2)
        page.get_by_label("Status").select_option("SUCCEEDED")
        expect(rows).to_have_count(1, timeout=DONE_WITHIN_MS)
        assert f"task_id={ours}" in page.url
        rows.get_by_role("link").first.click()
        expect(page.get_by_role("main")).to_contain_text(run_id)
        expect(page.get_by_role("table", name="Attempts").locator("tbody")).to_contain_text(" ms")

    def test_lead_to_the_events_about_them(self, console: Console, read_only_key: str) -> None:
        task_id = task(console.stack)
        page = console.open(at=f"tasks/{task_id}")
        page.get_by_role("main").get_by_role("link", name="Events").click()
        expect(page.get_by_role("heading", name="Events")).to_be_visible()
        expect(page.get_by_label("About")).to_have_value(task_id)
        expect(page.locator("[data-row]").first).to_contain_text("task.registered")


class TestACron:
    def test_is_changed_after_a_look_at_the_next_instants(self, console: Console) -> None:
        task_id = task(console.stack, cron="0 6 * * *", timezone="Europe/Rome")
        page = console.open(at=f"tasks/{task_id}")
        page.get_by_role("button", name="Change cron").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Cron", exact=True).fill("nonsense")
        expect(dialog.get_by_role("alert")).to_contain_text("cron")
        dialog.get_by_role("button", name="Change cron").click()
        expect(dialog.get_by_role("alert")).to_have_count(2)
        dialog.get_by_label("Cron", exact=True).fill("30 2 28 3 *")
        dialog.get_by_label("Time zone").fill("Europe/Berlin")
        expect(dialog.get_by_role("table", name="Next instants")).to_contain_text("02:30 does not exist")
        assert console.violations() == []
        dialog.get_by_role("button", name="Change cron").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("main").locator(".facts")).to_contain_text("30 2 28 3 * Europe/Berlin")
        action(page, "Cancel task")
        expect(page.get_by_role("button", name="Change cron")).to_be_disabled()

    def test_is_not_changed_by_a_key_that_only_reads(self, console: Console, read_only_key: str) -> None:
        task_id = task(console.stack, cron="0 6 * * *")
        page = console.open(read_only_key, at=f"tasks/{task_id}")
        button = page.get_by_role("button", name="Change cron")
        expect(button).to_be_disabled()
        assert "tasks:write" in (button.get_attribute("title") or "")
        client = console.stack.client(read_only_key)
        assert client.patch(f"/api/v1/tasks/{task_id}", {"cron": "0 7 * * *"}).status == 403


class TestTheCallInPython:
    def test_registers_the_payment_of_the_form(self, console: Console, money: Money) -> None:
        page = console.open(at="new?kind=payment")
        page.get_by_label("From account").fill(money.payer)
        page.get_by_label("To account").fill(money.payee)
        page.get_by_label("Amount").fill("31")
        page.get_by_label("Instant (UTC)").fill(later(hours=2))
        page.get_by_label("Description").fill(description := f'a "null", or true? {time.time_ns()}')
        ran(python_shown(page), console.stack.api_key)
        found = (
            console.stack.client().get(f"/api/v1/payments?account_id={money.payer}&order=desc").expect(200)
        )
        assert [each["amount"] for each in found["payments"] if each["description"] == description] == [31]

    def test_registers_the_task_of_the_form(self, console: Console) -> None:
        page = console.open(at="new?kind=cron")
        page.get_by_label("Target").select_option("sqs")
        page.get_by_label("Address").fill(console.stack.destination_queue_url)
        page.get_by_label("Payload (JSON)").fill(
            '{"none": null, "so": [true, "true"], "big": 12345678901234567890}'
        )
        page.get_by_label("Name", exact=True).fill(name := f"browser-{time.time_ns()}")
        ran(python_shown(page), console.stack.api_key)
        (made,) = console.stack.client().get(f"/api/v1/tasks?name={name}").expect(200)["tasks"]
        read = console.stack.client().get(f"/api/v1/tasks/{made['task_id']}").expect(200)
        assert read["payload"] == {"none": None, "so": [True, "true"], "big": 12345678901234567890}


class TestAPayment:
    def test_is_found_by_its_metadata(self, console: Console, money: Money) -> None:
        order = f"a={time.time_ns()}"
        payment = money.pay(delay_seconds=900, metadata={"order": order})
        money.pay(delay_seconds=900, metadata={"order": "another"})
        page = console.open(at="payments")
        page.get_by_label("Metadata").fill(f"order={order}")
        page.get_by_role("button", name="Filter").click()
        rows = page.locator("[data-row]")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(payment)
        page.reload()
        expect(page.get_by_label("Metadata")).to_have_value(f"order={order}")
        expect(rows).to_have_count(1)
        page.get_by_label("Metadata").fill("order")
        page.get_by_role("button", name="Filter").click()
        expect(page.get_by_role("alert")).to_contain_text("metadata")

    def test_tells_how_late_each_attempt_began(self, console: Console, money: Money) -> None:
        payment = money.pay(delay_seconds=3)
        page = console.open(at=f"payments/{payment}")
        expect(page.locator(".lead")).to_contain_text("COMPLETED", timeout=DONE_WITHIN_MS)
        (attempt,) = (
            console.stack.client().get(f"/api/v1/payments/{payment}/executions").expect(200)["executions"]
        )
        started = page.get_by_role("table", name="Attempts").locator("tbody tr")
        expect(started).to_have_count(1)
        late = int(started.locator("td").nth(1).inner_text().removesuffix(" ms"))
        assert 0 <= late < DONE_WITHIN_MS
        assert attempt["status"] == "SUCCESS"
