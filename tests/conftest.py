"""One local engine for all tests that need AWS. It is started by the first of them, without a deployment.

Contract and integration tests run on it, not on moto: the writes of tasks are PartiQL with conditions, which moto does
not read, so the engine is there anyway. It starts in 0.4 s, a call takes no longer than one to moto, and it counts
write units as AWS does. `make test ENGINE=dynamodb-local` runs them with Amazon's own engine for DynamoDB.
"""

import gc
import os
import socket
import time
import warnings
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

import pytest

from cli.local import ministack
from cli.local.place import Place
from tests.dynamodb_local.differences import DIFFERENCES
from tests.engines import DYNAMODB_LOCAL, MINISTACK, Engines, dynamodb_local, speaking_to

if TYPE_CHECKING:
    from tests.boundary import Boundary

_NEW_OBJECTS_OF_A_PASS: Final = 50_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=[MINISTACK, DYNAMODB_LOCAL], default=MINISTACK)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects without the garbage collector: what is collected lives to the end. That takes a third off the time of a
    collection. Afterwards the collector runs seldom, for it passes over all that was collected each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(_NEW_OBJECTS_OF_A_PASS)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("engine") != DYNAMODB_LOCAL:
        return
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        for known in {name, name.partition("[")[0], name.partition("::")[0]} & DIFFERENCES.keys():
            item.add_marker(DIFFERENCES[known].mark())


@pytest.fixture(scope="session")
def engine(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """The engines' addresses; their environment is set only while a test uses `boundary`."""
    place = Place(port=_free_port(), directory=tmp_path_factory.mktemp("engine"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the engine outlives the call that starts it
        ministack.start(place)
    with ExitStack() as opened:
        opened.callback(ministack.stop, place)
        second = pytestconfig.getoption("engine") == DYNAMODB_LOCAL
        yield Engines(place=place, dynamodb_url=opened.enter_context(dynamodb_local()) if second else None)


@pytest.fixture
def boundary(engine: Engines) -> Iterator["Boundary"]:
    """Clients made meanwhile speak to the engine, and what they say passes here."""
    import botocore.endpoint  # what a unit test need not wait for

    from tests.boundary import BOUNDARY

    # botocore draws how long it waits before it tries again; the order of things does not depend on it.
    at_once = SimpleNamespace(time=time.time, sleep=lambda seconds: None)
    BOUNDARY.clear()
    BOUNDARY.rowless, BOUNDARY.refuses = False, True
    # A patch of its own: the test's `monkeypatch` may be undone after the environment has been put back.
    with pytest.MonkeyPatch.context() as patch, speaking_to(engine):
        patch.setattr(botocore.endpoint, "time", at_once)
        yield BOUNDARY
    assert "AWS_ENDPOINT_URL" not in os.environ, "the tests that follow would speak to the engine"
    BOUNDARY.clear()


@pytest.fixture
def is_amazons(engine: Engines) -> bool:
    """DynamoDB is Amazon's own engine."""
    return engine.dynamodb_url is not None


@pytest.fixture(params=["with its row", "without its row"])
def refusal(request: pytest.FixtureRequest, boundary: "Boundary") -> None:
    """A refused statement comes back in both of AWS's ways."""
    boundary.rowless = request.param == "without its row"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
