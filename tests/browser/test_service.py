"""Operators in the console: switches, reconciliations, and the calendar of all tenants."""

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from cli.client import Answer
from postdate.domain.reconciling import BEGIN_CHAIN, SET_TO_JOURNAL, Proposal, Reconciliation
from postdate.stores.reconciliations import DynamoReconciliations
from tests.browser.conftest import NARROW, WIDE, Console
from tests.browser.test_console import ran
from tests.e2e.conftest import RunningStack

SWITCHES: Final = "/api/v1/ops/switches"
RECONCILIATIONS: Final = "/api/v1/ops/reconciliations"
# A recorder counts some seconds after a registration, and a look at the counts is used for ten.
COUNTED_WITHIN_MS: Final = 60_000


@pytest.fixture
def switch(stack: RunningStack) -> Iterator[str]:
    """The switch of a tenant that is nobody's. It is on again after the test."""
    name = f"tenant:browser-{time.time_ns()}"
    yield name
    set_to(stack, name, on=True).expect(200)


def set_to(stack: RunningStack, name: str, *, on: bool, key: str | None = None) -> Answer:
    client = stack.client(key or stack.operator_key)
    form = {"on": on, "reason": "a test"}
    return client.send("PUT", f"{SWITCHES}/{name}", json.dumps(form).encode())


def is_on(stack: RunningStack, name: str) -> bool:
    on: bool = stack.client(stack.operator_key).get(f"{SWITCHES}/{name}").expect(200)["on"]
    return on


def turn(page: Page, button: str, reason: str) -> str:
    """Turns the switch of the open page, and returns the command that was shown."""
    page.get_by_role("group", name="Actions").get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(reason)
    shown = dialog.locator(".command pre").inner_text()
    dialog.get_by_role("button", name=button).click()
    expect(dialog).to_have_count(0)
    return shown


class TestASwitch:
    def test_is_turned_off_with_a_reason_and_on_again(self, console: Console, switch: str) -> None:
        page = console.open(console.stack.operator_key, "switches", tenant="demo")
        expect(page.locator("[data-row]", has_text="settlement")).to_contain_text("ON")
        page.get_by_role("button", name="Turn another off").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Switch").fill(switch)
        dialog.get_by_role("button", name="Turn another off").click()
        expect(dialog).to_be_visible()
        assert is_on(console.stack, switch)
        dialog.get_by_label("Reason").fill("wrong rates")
        dialog.get_by_role("button", name="Turn another off").click()
        row = page.locator("[data-row]", has_text=switch)
        expect(row).to_contain_text("OFF")
        assert not is_on(console.stack, switch)
        row.get_by_role("link").click()
        expect(page.get_by_role("table", name="History")).to_contain_text("wrong rates")
        shown = turn(page, "Turn on", "rates corrected")
        expect(page.locator(".lead")).to_contain_text("ON")
        expect(page.get_by_role("table", name="History")).to_contain_text("rates corrected")
        assert is_on(console.stack, switch)
        assert console.stack.operator_key not in shown
        ran(shown.replace('"on":true', '"on":false'), console.stack.operator_key)
        expect(page.locator(".lead")).to_contain_text("OFF")

    def test_that_is_off_is_seen_on_the_first_page(self, console: Console, switch: str) -> None:
        page = console.open(console.stack.operator_key, tenant="demo")
        set_to(console.stack, switch, on=False).expect(200)
        expect(page.get_by_role("table", name="Switches")).to_contain_text(switch)

    @pytest.mark.parametrize("kind", ["reads", "restricted"])
    def test_is_turned_by_operators_only(
        self, console: Console, read_only_key: str, switch: str, kind: str
    ) -> None:
        key = read_only_key
        if kind == "restricted":
            form = {"name": "reader", "scopes": ["tasks:read", "tasks:write"], "read_only": True}
            key = console.stack.client(console.stack.admin_key).post("/api/v1/keys", form).expect(201)["key"]
        page = console.open(key, "switches")
        expect(page.get_by_role("alert")).to_contain_text("This key may not see this.")
        expect(page.get_by_role("link", name="Switches")).to_have_count(0)
        for place in ("switches", f"switches/{switch}", "reconciliations", "new?kind=task"):
            console.go(place)
            expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()
            buttons = page.get_by_role("main").get_by_role("button", name=re.compile("Turn|Approve|Register"))
            for button in buttons.all():
                expect(button).to_be_disabled()
        client = console.stack.client(key)
        assert set_to(console.stack, switch, on=False, key=key).status == 403
        assert client.get(RECONCILIATIONS).status == 403
        assert client.post(f"{RECONCILIATIONS}/rec_1/approve", {"reason": "r"}).status == 403
        assert is_on(console.stack, switch)


@pytest.fixture
def account(stack: RunningStack) -> str:
    """An account whose journal says 100."""
    name = f"browser-{time.time_ns()}"
    admin = stack.client(stack.admin_key)
    admin.post("/api/v1/accounts", {"account_id": name}).expect(201)
    path = f"/api/v1/accounts/{name}/deposits"
    admin.post(path, {"amount": 100}, idempotency_key=name).expect(201)
    return name


@pytest.fixture
def reconciliation(stack: RunningStack, account: str) -> Reconciliation:
    """A report of tonight: that account holds 105, and a plan has no next run."""
    now = datetime.now(UTC).replace(microsecond=0)
    found = Reconciliation(
        id=f"rec_{now:%Y%m%dT%H%M%SZ}_{time.time_ns():x}",
        started_at=now - timedelta(seconds=9),
        finished_at=now,
        by_check={"journal_gives_balances": 1},
        looked_at={"accounts": 1_000, "rows_journal": 10_000},
        unjudged=0,
        events_filled=0,
        report="reports/x.json",
        findings=(
            {
                "check": "journal_gives_balances",
                "tenant": "demo",
                "subject": account,
                "observed": [f"{account}: 105 there, 100 by its journal"],
                "expected": [],
                "repair": SET_TO_JOURNAL,
            },
        ),
        proposals=(
            Proposal(tenant="demo", subject=account, repair=SET_TO_JOURNAL),
            Proposal(tenant="demo", subject="task_gone", repair=BEGIN_CHAIN),
        ),
    )
    DynamoReconciliations(table=stack.tables["operations"], client=stack.aws("dynamodb")).put(found)
    return found


def spoil(stack: RunningStack, account: str) -> None:
    """Adds 5 to the balance and to no journal. Only an account that stood still for ten minutes is repaired."""
    an_hour_ago = int((time.time() - 3_600) * 1_000)
    stack.aws("dynamodb").update_item(
        TableName=stack.tables["accounts"],
        Key={"account": {"S": f"demo#{account}"}},
        UpdateExpression="SET available = :more, updated = :then",
        ConditionExpression="available = :less",
        ExpressionAttributeValues={
            ":more": {"N": "105"},
            ":less": {"N": "100"},
            ":then": {"N": str(an_hour_ago)},
        },
    )


class TestAReconciliation:
    def test_shows_its_findings_and_a_person_approves_one_repair(
        self, console: Console, account: str, reconciliation: Reconciliation
    ) -> None:
        spoil(console.stack, account)
        page = console.open(console.stack.operator_key, "reconciliations", tenant="demo")
        row = page.locator(f'[data-row]:has(a[href*="{reconciliation.id}"])')
        expect(row).to_contain_text("wrong")
        row.get_by_role("link").click()
        expect(page.get_by_role("table", name="Findings")).to_contain_text("105 there, 100 by its journal")
        proposals = page.get_by_role("table", name="Proposals")
        proposal = proposals.locator("[data-row]", has_text=account)
        proposal.get_by_role("button", name="Approve").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(f"{SET_TO_JOURNAL}: {account} of demo.")
        expect(dialog.locator(".command pre")).to_contain_text(f"{reconciliation.id}/approve")
        dialog.get_by_label("Reason").fill("a script wrote this balance")
        dialog.get_by_role("button", name="Approve").click()
        expect(proposal).to_contain_text("done")
        expect(proposal.get_by_role("button", name="Approve")).to_be_disabled()
        expect(proposals.locator("[data-row]", has_text="task_gone")).not_to_contain_text("done")
        told = console.stack.client().get(f"/api/v1/accounts/{account}").expect(200)
        assert told["balance"] == 100
        reports = console.stack.client(console.stack.operator_key).get(RECONCILIATIONS).expect(200)
        mine = next(
            each
            for each in reports["reconciliations"]
            if each["reconciliation_id"] == reconciliation.id
        )  # fmt: skip
        outcomes = [(each["outcome"], each["reason"]) for each in mine["proposals"]]
        assert outcomes == [("done", "a script wrote this balance"), (None, None)]

    def test_that_does_not_exist_is_told(self, console: Console) -> None:
        page = console.open(console.stack.operator_key, "reconciliations/rec_nothing", tenant="demo")
        expect(page.get_by_role("alert")).to_contain_text("There is nothing here.")


def test_an_operator_sees_what_is_due_for_all_tenants(console: Console) -> None:
    """A task of another tenant than the one that the operator acts for is counted."""
    page = console.open(console.stack.operator_key, tenant="demo")
    calendar = page.get_by_role("table", name="Due next, all tenants", exact=True)
    expect(calendar).to_be_visible()
    other = console.stack.client(console.stack.other_tenant_key)
    target = {"type": "webhook", "url": "http://127.0.0.1:9/x"}
    before = week(calendar.inner_text())
    other.post("/api/v1/tasks", {"delay_seconds": 5_000, "target": target}).expect(201)
    expect(calendar.locator("tr", has_text="week").locator("td").last).to_have_text(
        f"{before + 1:,}", timeout=COUNTED_WITHIN_MS
    )


def week(table: str) -> int:
    """The tasks of the next week."""
    line = next(line for line in table.splitlines() if line.startswith("week"))
    return int(line.split()[-1].replace(",", ""))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "320"])
def test_axe_finds_no_violation_on_the_pages_about_the_service(
    opened: Callable[..., Console],
    reconciliation: Reconciliation,
    switch: str,
    size: tuple[int, int],
    scheme: str,
) -> None:
    console = opened(size, color_scheme=scheme)
    set_to(console.stack, switch, on=False).expect(200)
    page = console.open(console.stack.operator_key, tenant="demo")
    places: dict[str, Any] = {
        "now": page.get_by_role("table", name="Due next, all tenants", exact=True),
        "switches": page.locator("[data-row]", has_text=switch),
        f"switches/{switch}": page.get_by_role("table", name="History"),
        "reconciliations": page.locator("[data-row]").first,
        f"reconciliations/{reconciliation.id}": page.get_by_role("table", name="Proposals"),
    }
    for place, there in places.items():
        console.go(place)
        expect(there).to_be_visible()
        assert (place, console.violations(), console.overflow()) == (place, [], 0)
        console.picture(f"{place.partition('/')[0]}-of-operators-{size[0]}-{scheme}")
