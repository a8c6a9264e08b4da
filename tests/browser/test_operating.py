"""Operating from the console: dead letters, operations, flow keys and destinations."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from postdate.domain.operation_counts import fingerprint
from tests.browser.conftest import NARROW, WIDE, Console, action
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver, receiving

DONE_WITHIN_MS: Final = 60_000
FAILURES: Final = (
    None,
    "http 422",
    "the task 0w8qk4r is 123456 ms late",
    "id 6f1c2d3e-0000-4111-8222-333344445555 or 0123456789abcdef",
    "\u00c51234 and \uff11\uff12\uff13\uff14\uff15",
    "x" * 200,
)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def dead(stack: RunningStack, url: str, count: int) -> list[str]:
    """So many tasks that died of the answer of that address."""
    task = {"delay_seconds": 0, "target": {"type": "webhook", "url": url}, "retry": {"max_attempts": 1}}
    client = stack.client()
    answer = client.post("/api/v1/tasks/batch", {"tasks": [task] * count}).expect(200)
    ids = [result["task"]["task_id"] for result in answer["results"]]
    deadline = time.monotonic() + DONE_WITHIN_MS / 1000
    while left := [id for id in ids if client.get(f"/api/v1/tasks/{id}").expect(200)["status"] != "DEAD"]:
        assert time.monotonic() < deadline, left
        time.sleep(0.2)
    return ids


def plan(page: Page, url: str, *, rate: int, canary: str = "", share: str = "") -> None:
    """Plans a redrive of the group of that address, and opens the plan."""
    group = page.locator("[data-row]", has_text=url)
    group.get_by_role("button", name="Redrive this group").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the receiver is back")
    dialog.get_by_label("Items a second").fill(str(rate))
    dialog.get_by_label("Canary").fill(canary)
    dialog.get_by_label("Stop at (% failed)").fill(share)
    dialog.get_by_role("button", name="Redrive this group").click()
    expect(page.locator(".lead")).to_contain_text("PLANNED")


def operation(console: Console) -> dict[str, Any]:
    """The one that is open."""
    path = f"/api/v1/operations/{console.page.url.rpartition('/')[2]}"
    told: dict[str, Any] = console.stack.client().get(path).expect(200)
    return told


class TestDeadLetters:
    def test_a_group_is_redriven_to_its_end(self, console: Console, receiver: Receiver) -> None:
        receiver.is_down = True
        url = f"{receiver.url}/first"
        ids = dead(console.stack, url, 6)
        page = console.open(at="dead")
        expect(page.locator("[data-row]", has_text=url)).to_contain_text("http 503")
        plan(page, url, rate=50, canary="1", share="30")
        expect(page.get_by_role("table", name="By failure")).to_contain_text("http 503")
        expect(page.get_by_role("table", name="Items")).to_contain_text(ids[0])
        assert all(len(receiver.of(id)) == 1 for id in ids)
        receiver.is_down = False
        action(page, "Start")
        expect(page.locator(".lead")).to_contain_text("DONE", timeout=DONE_WITHIN_MS)
        expect(page.locator(".lead")).to_contain_text("6 done")
        assert all(len(receiver.of(id)) == 2 for id in ids)
        console.go("operations")
        expect(page.get_by_role("table", name="Operations")).to_contain_text("the receiver is back")
        console.go("dead")
        expect(page.get_by_role("heading", name="Dead tasks and runs")).to_be_visible()
        expect(page.locator("[data-row]", has_text=url)).to_have_count(0)

    def test_a_canary_that_fails_stops_it(self, console: Console, receiver: Receiver) -> None:
        url = f"{receiver.url}/status/422"
        dead(console.stack, url, 6)
        page = console.open(at="dead")
        plan(page, url, rate=50, canary="2")
        action(page, "Start")
        expect(page.locator(".lead")).to_contain_text("STOPPED", timeout=DONE_WITHIN_MS)
        expect(page.locator(".lead")).to_contain_text("2 failed, 4 waiting")
        assert len(receiver.arrivals) == 8

    @pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "320"])
    def test_progress_is_seen_live_and_a_person_stops_it(
        self, opened: Callable[..., Console], receiver: Receiver, size: tuple[int, int]
    ) -> None:
        console = opened(size)
        url = f"{receiver.url}/status/422"
        dead(console.stack, url, 30)
        page = console.open(at="dead")
        plan(page, url, rate=1)
        assert operation(console)["eligible"]["count"] == 30
        action(page, "Start")
        expect(page.locator(".lead")).to_contain_text("failed", timeout=DONE_WITHIN_MS)
        assert float(page.get_by_role("progressbar").get_attribute("value") or 0) > 0
        assert console.overflow() == 0
        console.picture(f"operation-{size[0]}")
        action(page, "Stop")
        expect(page.locator(".lead")).to_contain_text("STOPPED", timeout=DONE_WITHIN_MS)
        assert operation(console)["waiting"] > 0
        expect(page.get_by_role("button", name="Resume")).to_be_enabled()

    def test_a_read_only_key_finds_no_action_enabled_and_the_api_refuses_each(
        self, console: Console, receiver: Receiver, read_only_key: str
    ) -> None:
        url = f"{receiver.url}/status/422"
        dead(console.stack, url, 1)
        page = console.open(read_only_key, "dead")
        buttons = page.locator("[data-row]", has_text=url).get_by_role("button")
        expect(buttons).to_have_count(2)
        for button in buttons.all():
            expect(button).to_be_disabled()
        asked = {"action": "redrive", "kind": "tasks", "filter": {"destination": url}, "reason": "a test"}
        client = console.stack.client(read_only_key)
        assert client.post("/api/v1/operations", asked).status == 403
        planned = console.stack.client().post("/api/v1/operations", asked).expect(202)["operation_id"]
        console.go(f"operations/{planned}")
        expect(page.locator(".lead")).to_contain_text("PLANNED")
        for name in ("Start", "Stop", "Resume"):
            expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
            assert client.post(f"/api/v1/operations/{planned}/{name.lower()}", {}).status == 403

    def test_another_tenant_sees_nothing_of_it(self, console: Console, receiver: Receiver) -> None:
        url = f"{receiver.url}/status/422"
        dead(console.stack, url, 1)
        page = console.open(console.stack.other_tenant_key, "dead")
        expect(page.get_by_text("No task is dead.")).to_be_visible()
        console.go("operations")
        expect(page.get_by_text("No operation yet.")).to_be_visible()

    def test_an_operator_sees_the_letters_of_all_tenants(self, console: Console, receiver: Receiver) -> None:
        url = f"{receiver.url}/status/422"
        dead(console.stack, url, 1)
        page = console.open(console.stack.operator_key, "dead", tenant="demo")
        expect(page.get_by_role("table", name="Letters of tasks")).to_contain_text(url)

    def test_a_failure_has_the_same_name_here_as_in_the_api(self, console: Console) -> None:
        page = console.open(at="dead")
        named = page.evaluate(
            """async (all) => all.map((await import(new URL("console/operating.js", location.href))).failureOf)""",
            list(FAILURES),
        )
        assert named == [fingerprint(each) for each in FAILURES]


class TestAFlowKey:
    def test_is_paused_and_resumed_and_its_values_are_pinned(
        self, console: Console, receiver: Receiver
    ) -> None:
        key = f"browser-{time.time_ns()}"
        task = {"target": {"type": "webhook", "url": receiver.url}, "flow_control": {"key": key, "rate": 100}}
        client = console.stack.client()
        client.post("/api/v1/tasks", {**task, "delay_seconds": 0}).expect(201)
        page = console.open(at="flow-keys")
        page.get_by_role("link", name=key).click(timeout=DONE_WITHIN_MS)
        expect(page.locator(".lead")).to_contain_text("ACTIVE")
        action(page, "Pause")
        expect(page.locator(".lead")).to_contain_text("PAUSED")
        page.get_by_role("button", name="Pin values").click()
        page.get_by_role("dialog").get_by_label("Rate").fill("7")
        page.get_by_role("dialog").get_by_role("button", name="Pin values").click()
        expect(page.get_by_role("main").locator(".facts")).to_contain_text("7 in 1 s")
        waits = client.post("/api/v1/tasks", {**task, "delay_seconds": 3}).expect(201)["task_id"]
        expect(page.locator(".lead")).to_contain_text("1 waiting", timeout=DONE_WITHIN_MS)
        assert receiver.of(waits) == []
        action(page, "Resume")
        expect(page.locator(".lead")).to_contain_text("ACTIVE")
        assert len(receiver.wait_for(waits, 1, seconds=60)) == 1

    def test_a_read_only_key_changes_none(self, console: Console, read_only_key: str) -> None:
        key = f"browser-{time.time_ns()}"
        path = f"/api/v1/flow-keys/{key}"
        console.stack.client().patch(path, {"rate": 5}).expect(200)
        page = console.open(read_only_key, f"flow-keys/{key}")
        expect(page.locator(".lead")).to_contain_text("ACTIVE")
        for button in page.get_by_role("group", name="Actions").get_by_role("button").all():
            expect(button).to_be_disabled()
        client = console.stack.client(read_only_key)
        assert client.post(f"{path}/pause", None).status == 403
        assert client.post(f"{path}/resume", None).status == 403
        assert client.patch(path, {"rate": 6}).status == 403


class TestADestination:
    def test_that_is_left_alone_is_seen_and_reset(self, console: Console, receiver: Receiver) -> None:
        receiver.is_down = True
        dead(console.stack, receiver.url, 10)
        page = console.open(at="destinations")
        row = page.locator("[data-row]", has_text=receiver.url.removeprefix("http://").partition("/")[0])
        expect(row).to_contain_text("OPEN", timeout=DONE_WITHIN_MS)
        for name in ("Probe", "Reset"):
            row.get_by_role("button", name=name).click()
            page.get_by_role("dialog").get_by_role("button", name=name).click()
            expect(page.get_by_role("dialog")).to_have_count(0)
        expect(row.filter(has_text="OPEN")).to_have_count(0, timeout=DONE_WITHIN_MS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1920", "320"])
def test_axe_finds_no_violation_on_the_pages_of_operators(
    opened: Callable[..., Console], receiver: Receiver, size: tuple[int, int], scheme: str
) -> None:
    console = opened(size, color_scheme=scheme)
    url = f"{receiver.url}/status/422"
    dead(console.stack, url, 1)
    asked = {"action": "redrive", "kind": "tasks", "filter": {"destination": url}, "reason": "a test"}
    planned = console.stack.client().post("/api/v1/operations", asked).expect(202)["operation_id"]
    key = f"browser-{time.time_ns()}"
    console.stack.client().patch(f"/api/v1/flow-keys/{key}", {"rate": 5}).expect(200)
    page = console.open()
    for place, there in {
        "dead": page.locator("[data-row]").first,
        "operations": page.locator("[data-row]").first,
        f"operations/{planned}": page.get_by_role("table", name="Items"),
        "flow-keys": page.locator("[data-row]").first,
        f"flow-keys/{key}": page.locator(".lead"),
        "destinations": page.get_by_role("heading", name="Destinations"),
    }.items():
        console.go(place)
        expect(there).to_be_visible()
        assert (place, console.violations(), console.overflow()) == (place, [], 0)
        if place == "dead":
            console.picture(f"dead-{size[0]}-{scheme}")
