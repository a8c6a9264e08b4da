"""One local stack of its own for all end-to-end tests: brought up as `make up` does it, on a free port."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import pytest

from cli import tenants
from cli.client import Client
from cli.local import aws, ministack, secrets
from cli.local.once import ROOT
from cli.local.place import Place
from cli.local.stack import Stack
from postdate.stores.vault import Vault
from tests.e2e.receiver import Receiver, receiving

PLACE: Final = pytest.StashKey[Place]()
LOG_LINES_SHOWN: Final = 60


@dataclass(frozen=True, kw_only=True)
class RunningStack(Stack):
    """stack.json, and the ways to speak to what it describes. All of them are closed with the stack."""

    place: Place
    opened: ExitStack

    def client(self, key: str | None = None) -> Client:
        """The HTTP API with the demo tenant's key, or another, or with "" for none. One thread each."""
        return self.opened.enter_context(Client(self.api_url, self.api_key if key is None else key))

    def aws(self, service: str) -> Any:
        """A boto3 client that may do everything."""
        with aws.speaking_to(self.place):
            client = aws.client(service)
        self.opened.callback(client.close)
        return client

    @property
    def vault(self) -> Vault:
        """The vault of the stack's tenants. Use it while speaking to the place."""
        return secrets.vault(self.tables)

    @property
    def key_table(self) -> tenants.KeyTable:
        """The API keys of the stack. Use it while speaking to the place."""
        return secrets.key_table(self.tables)

    def log(self, lines: int = LOG_LINES_SHOWN) -> str:
        return ministack.log_tail(self.place, lines)


@pytest.fixture(scope="session")
def stack(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    yield from running(pytestconfig, tmp_path_factory)


def running(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    place = Place(port=free_port(), directory=tmp_path_factory.mktemp("stack"))
    pytestconfig.stash[PLACE] = place
    try:
        described = json.loads(_postdate(place, "up", "--no-demo"))
        with ExitStack() as opened:
            yield RunningStack(**described, place=place, opened=opened)
    finally:
        _postdate(place, "down")
        shutil.rmtree(place.directory, ignore_errors=True)


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def swept(stack: RunningStack) -> dict[str, Any]:
    """A task past the open horizon. Registered first of all, so that nobody has to wait for it long."""
    target = {"type": "sqs", "queue_url": stack.destination_queue_url}
    answer: dict[str, Any] = (
        stack.client().post("/api/v1/tasks", {"delay_seconds": 90, "target": target}).expect(201)
    )
    return answer


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return (yield from with_the_log(item))


def with_the_log(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the last lines of the stack's log to the report of a failed test."""
    report = yield
    place = item.config.stash.get(PLACE, None)
    if report.failed and place:
        report.sections.append(("the local stack", ministack.log_tail(place, LOG_LINES_SHOWN)))
    return report


def _postdate(place: Place, *command: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "cli.main", *command, "--json", "--port", str(place.port)],
        cwd=ROOT, env=os.environ | {"POSTDATE_LOCAL_DIR": str(place.directory), "DETACH": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        pytest.fail(f"postdate {' '.join(command)} failed:\n{ran.stderr}", pytrace=False)
    return ran.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
