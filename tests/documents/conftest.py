"""One local stack for the tests of the documents: README, guides, runbook, examples, and the description of the API."""

import time
from collections.abc import Generator, Iterator
from typing import Final

import pytest

from tests.e2e import conftest as e2e
from tests.e2e.conftest import RunningStack

# A new stack sweeps for the first time at the next full minute, and a busy machine is late.
SWEPT_WITHIN_SECONDS: Final = 150


@pytest.fixture(scope="session")
def stack(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    yield from e2e.running(pytestconfig, tmp_path_factory)


@pytest.fixture
def sweeps(stack: RunningStack) -> None:
    """The stack has swept, as any stack has that runs for some minutes."""
    operator, deadline = stack.client(stack.operator_key), time.monotonic() + SWEPT_WITHIN_SECONDS
    while not operator.get("/api/v1/ops/overview").expect(200)["sweep"]["alive"]:
        assert time.monotonic() < deadline, "the stack does not sweep"
        time.sleep(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return (yield from e2e.with_the_log(item))
