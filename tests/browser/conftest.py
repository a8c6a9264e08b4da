"""The console in a real browser, against a deployed local stack: a new one, or the running one that `--stack` names."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from cli import tenants
from cli.local import aws
from cli.local.once import ROOT
from cli.local.place import Place
from tests.browser import chromium
from tests.e2e import conftest as e2e
from tests.e2e.conftest import RunningStack

# The screenshots of the last run.
PICTURES: Final = ROOT / ".build" / "browser"
AXE: Final = Path(__file__).with_name("axe.min.js")
WIDE: Final = (1920, 1080)
NARROW: Final = (320, 640)
# Noted in the page, before any script of its own: the browser reports each breach of the policy there.
REPORTS: Final = """
window.breaches = [];
addEventListener("securitypolicyviolation", (event) => breaches.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
# A state is awaited for as long as a loaded machine may need; a test that passes waits no longer than it must.
PATIENCE_MS: Final = 30_000
expect.set_options(timeout=PATIENCE_MS)
EXPECTED_NOISE: Final = "Failed to load resource: the server responded with a status of"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--stack", type=int, help="the port of a running local stack to use")
    parser.addoption("--pictures", type=Path, default=PICTURES, help="the folder to write the screenshots to")
    parser.addoption("--readme", action="store_true", help="write the picture of README.md anew")


@pytest.fixture(scope="session")
def stack(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    port = pytestconfig.getoption("--stack")
    if port is None:
        yield from e2e.running(pytestconfig, tmp_path_factory)
        return
    place = Place.of(port, os.environ)
    with ExitStack() as opened:
        yield RunningStack(**json.loads(place.stack_file.read_text()), place=place, opened=opened)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = chromium.found()
    if program is None:
        pytest.fail(chromium.MISSING, pytrace=False)
    with sync_playwright() as playwright:
        # Chromium's sandbox refuses to start as root, which is how containers run tests.
        browser = playwright.chromium.launch(
            executable_path=program, chromium_sandbox=os.geteuid() != 0, args=["--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@dataclass(kw_only=True)
class Console:
    """A tab with the console. Whatever the browser complains about is noted."""

    stack: RunningStack
    page: Page
    pictures: Path
    complaints: list[str] = field(default_factory=list)

    def open(self, key: str | None = None, at: str = "", *, tenant: str = "", reload: bool = True) -> Page:
        """Signs in with the demo tenant's key, or another, and opens that place."""
        if reload:
            self.page.goto(self.stack.console_url)
        self.page.get_by_label("API key").fill(key or self.stack.api_key)
        if tenant:
            self.page.get_by_label("Tenant").fill(tenant)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("navigation", name="Pages of the console").wait_for()
        return self.go(at) if at else self.page

    def go(self, at: str) -> Page:
        self.page.evaluate("at => { location.hash = at }", f"#/{at}")
        return self.page

    def picture(self, name: str) -> None:
        self.page.screenshot(path=self.pictures / f"{name}.png", animations="disabled")

    def breaches(self) -> list[str]:
        found: list[str] = self.page.evaluate("window.breaches")
        return found

    def violations(self) -> list[str]:
        """The rules of axe that the page breaks, with the elements that break them."""
        if not self.page.evaluate("!!window.axe"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[dict[str, Any]] = self.page.evaluate("axe.run().then(({ violations }) => violations)")
        return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        wider: int = self.page.evaluate(
            "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wider


@pytest.fixture
def opened(
    browser: Browser, stack: RunningStack, pytestconfig: pytest.Config
) -> Iterator[Callable[..., Console]]:
    """Makes consoles of a size, and fails the test for anything that the browser complained about."""
    contexts: list[BrowserContext] = []
    consoles: list[Console] = []
    pictures: Path = pytestconfig.getoption("--pictures")
    pictures.mkdir(parents=True, exist_ok=True)

    def open_console(size: tuple[int, int] = WIDE, **settings: Any) -> Console:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **settings)
        context.set_default_navigation_timeout(
            3 * PATIENCE_MS
        )  # the first page of all waits for cold functions
        context.add_init_script(REPORTS)
        contexts.append(context)
        console = Console(stack=stack, page=context.new_page(), pictures=pictures)
        consoles.append(console)
        console.page.on("pageerror", lambda error: console.complaints.append(str(error)))
        console.page.on("console", lambda said: _note(console, said.type, said.text))
        return console

    try:
        yield open_console
        for console in consoles:
            assert console.complaints == []
            assert console.breaches() == []
    finally:
        for context in contexts:
            context.close()


def _note(console: Console, kind: str, text: str) -> None:
    """The browser itself logs each answer of 4xx as an error; what the page makes of it is for the tests to say."""
    if kind in ("error", "warning") and not text.startswith(EXPECTED_NOISE):
        console.complaints.append(text)


@pytest.fixture
def console(opened: Callable[..., Console]) -> Console:
    return opened()


@dataclass(frozen=True, kw_only=True)
class Money:
    """Two accounts of the demo tenant that no other test uses, the first one with money."""

    stack: RunningStack
    payer: str
    payee: str

    def pay(self, *, delay_seconds: int, amount: int = 250, **fields: Any) -> str:
        """The id of a new payment."""
        body = {"from_account_id": self.payer, "to_account_id": self.payee, "amount": amount}
        answer = self.stack.client().post(
            "/api/v1/payments/schedule",
            {**body, "delay_seconds": delay_seconds, **fields},
            idempotency_key=f"browser-{time.time_ns()}",
        )
        payment_id: str = answer.expect(201)["payment_id"]
        return payment_id

    def status(self, payment_id: str) -> str:
        status: str = self.stack.client().get(f"/api/v1/payments/{payment_id}").expect(200)["status"]
        return status


@pytest.fixture(scope="session")
def money(stack: RunningStack) -> Money:
    name = f"browser-{time.time_ns()}"
    admin = stack.client(stack.admin_key)
    for account in (f"{name}-a", f"{name}-b"):
        admin.post("/api/v1/accounts", {"account_id": account}).expect(201)
    deposit = admin.post(
        f"/api/v1/accounts/{name}-a/deposits", {"amount": 900_000}, idempotency_key=f"{name}-first"
    )
    deposit.expect(201)
    return Money(stack=stack, payer=f"{name}-a", payee=f"{name}-b")


@pytest.fixture(scope="session")
def read_only_key(stack: RunningStack) -> str:
    with aws.speaking_to(stack.place):
        return tenants.key(stack.key_table, "demo", tenants.READS)


def until(page: Page, is_so: Callable[[], bool]) -> None:
    """Lets the page go on until it is so."""
    ends_at = time.monotonic() + PATIENCE_MS / 1_000
    while not is_so():
        assert time.monotonic() < ends_at
        page.wait_for_timeout(50)


def action(page: Page, name: str) -> None:
    """Opens the action of that name and says yes."""
    page.get_by_role("group", name="Actions").get_by_role("button", name=name, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
