"""Times the pages of lists over many payments, and fails if a page takes other read units than a page of few payments.

No test of a tier: 100,000 payments take minutes. A line for each list is printed by
`PAYMENTS=100000 .venv/bin/pytest tests/integration/pages.py --engine dynamodb-local`.
"""

import os
import time
from collections.abc import Iterator
from typing import Final

import pytest

from bench.figures import spread
from tests import boundary
from tests.integration.meter import READS
from tests.integration.test_lists import PAYMENTS as PATH
from tests.integration.test_lists import Stored, asking, stored, swept, world  # noqa: F401 (two are fixtures)
from tests.integration.world import World

PAYMENTS: Final = int(os.environ.get("PAYMENTS", "10000"))
ACCOUNTS: Final = int(os.environ.get("ACCOUNTS", "500"))
FEW: Final = 1_000
# The pages of a walk that is timed, and of the one whose units are counted.
PAGES_TIMED: Final = int(os.environ.get("PAGES", "120"))
PAGES_COUNTED: Final = 20
# Each page is asked for so many times, and its shortest time counts: others may use the machine meanwhile.
TRIES: Final = int(os.environ.get("TRIES", "1"))
WARM: Final = 20


def queries(stored: Stored) -> dict[str, str]:  # noqa: F811
    return asking(stored) | {
        "all, 100 a page": "limit=100",
        "waiting, 100 a page": "status=PENDING&limit=100",
    }


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes away what makes the engine's answers those of AWS, because that takes time of its own."""
    monkeypatch.setattr(boundary, "_OTHERWISE", frozenset())


def test_pages_of_many_payments(
    stored: Stored,  # noqa: F811
    world: World,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    swept(world, stored.now)
    stored.grow(FEW, ACCOUNTS)
    asked = queries(stored)
    few = {name: stored.units(query) for name, query in asked.items()}
    began = time.perf_counter()
    stored.grow(PAYMENTS - FEW, ACCOUNTS)
    with capsys.disabled():
        print(
            f"\n{PAYMENTS} payments over {ACCOUNTS} accounts, written in {time.perf_counter() - began:.0f} s"
        )
    for query in asked.values():
        for _ in range(WARM):
            stored.client.get(PATH, query)
    for name, query in asked.items():
        took, units = timed(stored, world, query)
        figures = ", ".join(f"{each} {value}" for each, value in spread(took, 50, 95, 99).items())
        first, least, most = units[0], min(units[:-1]), max(units)
        line = f"{name}: {len(took)} pages, {figures}"
        with capsys.disabled():
            print(f"{line}; units {least:g} to {most:g}, {few[name]:g} of {FEW} payments")
        assert set(units[1:-1]) == {few[name]}, name
        # The first page of what waits also reads what was due in the last ten minutes and is done.
        assert first == few[name] or "PENDING" in query, name


def timed(stored: Stored, world: World, query: str) -> tuple[list[float], list[float]]:  # noqa: F811
    """The milliseconds of each page, and the read units of each page of a second walk."""
    took = [each for each, _ in walked(stored, world, query, PAGES_TIMED)]
    with READS.counting():
        units = [each for _, each in walked(stored, world, query, PAGES_COUNTED)]
    return took, units


def walked(
    stored: Stored,  # noqa: F811
    world: World,  # noqa: F811
    query: str,
    pages: int,
) -> Iterator[tuple[float, float]]:
    """The milliseconds and the read units of each page, up to so many pages."""
    cursor: str | None = ""
    table = world.tables["payments"]
    for _ in range(pages):
        took = []
        for _ in range(TRIES):
            before, began = READS.units[table], time.perf_counter()
            answer = stored.client.get(PATH, f"{query}&cursor={cursor}" if cursor else query)
            took.append(1000 * (time.perf_counter() - began))
        yield min(took), READS.units[table] - before
        assert answer.status == 200
        cursor = answer.body["next_cursor"]
        if cursor is None:
            return
