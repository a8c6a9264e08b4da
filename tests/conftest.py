"""One local engine for all tests that need AWS. It is started by the first of them, without a deployment.

Contract and integration tests run on it alone, not on moto: the writes of tasks are PartiQL with conditions, which
moto does not read, so the engine is there anyway. It starts in 0.4 s, a call takes no longer than one to moto, and it
counts write units as AWS does.
"""

import socket
import time
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from cli.local import ministack
from cli.local.place import Place

if TYPE_CHECKING:
    from tests.boundary import Boundary


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Where the engine listens; its environment is set only while a test uses `boundary`."""
    place = Place(port=_free_port(), directory=tmp_path_factory.mktemp("engine"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the engine outlives the call that starts it
        ministack.start(place)
    yield place
    ministack.stop(place)


@pytest.fixture
def boundary(engine: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator["Boundary"]:
    """Clients made meanwhile speak to the engine, and what they say passes here."""
    import botocore.endpoint  # what a unit test need not wait for

    from cli.local import aws
    from tests.boundary import BOUNDARY

    # botocore draws how long it waits before it tries again; the order of things does not depend on it.
    at_once = SimpleNamespace(time=time.time, sleep=lambda seconds: None)
    monkeypatch.setattr(botocore.endpoint, "time", at_once)
    BOUNDARY.clear()
    BOUNDARY.rowless = False
    with aws.speaking_to(engine):
        yield BOUNDARY
    BOUNDARY.clear()


@pytest.fixture(params=["with its row", "without its row"])
def refusal(request: pytest.FixtureRequest, boundary: "Boundary") -> None:
    """A refused statement comes back in both of AWS's ways."""
    boundary.rowless = request.param == "without its row"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
