"""The picture of README.md: the page Now, with the payments and tasks of the tests that ran before."""

from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import expect

from cli.local.once import ROOT
from tests.browser.conftest import Console, Money, until

PICTURE: Final = ROOT / "docs" / "console.png"
SIZE: Final = (1280, 900)
HOURS: Final = (1, 2, 3, 5, 8, 13, 21, 26, 34, 49, 55, 73, 90, 121, 146)


def test_the_page_now_is_as_readme_shows_it(
    opened: Callable[..., Console], money: Money, pytestconfig: pytest.Config
) -> None:
    settled = money.pay(delay_seconds=1, amount=1_250)
    for hours in HOURS:
        money.pay(delay_seconds=hours * 3_600, amount=hours * 120)
    console = opened(SIZE, color_scheme="light")
    until(console.page, lambda: money.status(settled) == "COMPLETED")
    page = console.open(at="now")
    for title in ("Tasks, the last hour", "Payments, the last hour", "Due next", "The next week by hour"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    bars = page.get_by_role("img", name="Payments by minute").locator("rect.good")
    # The sweep counts a minute one to two minutes after it.
    expect(bars).not_to_have_count(0, timeout=180_000)
    console.picture("readme")
    assert f"({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8")
    if pytestconfig.getoption("--readme"):
        PICTURE.write_bytes((console.pictures / "readme.png").read_bytes())
