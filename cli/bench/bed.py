"""What a benchmark runs on: a local stack of its own and a webhook receiver, both gone when it ends."""

import fcntl
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config

from cli.bench.destinations import Destination, SqsDestination, WebhookDestination, receiver
from cli.client import Client
from cli.failure import Failure
from cli.local import aws, ministack
from cli.local.once import ROOT, alone
from cli.local.place import Place
from cli.local.stack import Stack
from cli.local.up import up
from cli.progress import say, step

FUNCTION: Final = "postdate-local-{}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bed:
    """`dynamodb` and `sqs` may do everything; they are safe to share between threads. `environment` is what the
    functions are told."""

    stack: Stack
    dynamodb: Any
    sqs: Any
    queue: SqsDestination
    webhook: WebhookDestination
    environment: Mapping[str, str]

    @property
    def destinations(self) -> tuple[Destination, ...]:
        return self.queue, self.webhook

    def client(self) -> Client:
        """The HTTP API, for one thread."""
        return Client(self.stack.api_url, self.stack.api_key)

    def admin(self) -> Client:
        """The same with the key that may also open accounts and fund them."""
        return Client(self.stack.api_url, self.stack.admin_key)


@contextmanager
def made() -> Iterator[Bed]:
    """By the same code as `make up`, on a free port; a stack that an interrupted run left behind is ended first."""
    home = Path(os.environ.get("POSTDATE_LOCAL_DIR", ROOT / ".local")).absolute() / "bench"
    with _the_only_one(home.with_name("bench.lock")):
        place = Place(port=_free_port(), directory=home)
        _taken_down(place)
        say(f"The benchmark's own stack, on port {place.port}:")
        try:
            stack = up(place)
            with aws.speaking_to(place), receiver() as webhook:
                sqs = _bare_client("sqs")
                yield Bed(
                    stack=stack,
                    dynamodb=_bare_client("dynamodb"),
                    sqs=sqs,
                    queue=SqsDestination(sqs, stack.destination_queue_url),
                    webhook=webhook,
                    environment=_environment("api") | _environment("run-tasks"),
                )
        finally:
            with step("taking the benchmark's stack down"):
                _taken_down(place)


def _bare_client(service: str) -> Any:
    """Without botocore's check of what is sent, which is a third of a call here and nothing to the engine."""
    waits = Config(connect_timeout=2, read_timeout=10, parameter_validation=False)
    return boto3.Session().client(service, config=waits)


def _environment(function: str) -> dict[str, str]:
    """What the deployed function is told, so that nothing here is assumed about sizes and names."""
    described = aws.client("lambda").get_function_configuration(FunctionName=FUNCTION.format(function))
    return dict(described["Environment"]["Variables"])


def _taken_down(place: Place) -> None:
    with alone(place.lock):
        ministack.stop(place)


@contextmanager
def _the_only_one(lock: Path) -> Iterator[None]:
    """Two at a time would measure each other."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure("Another benchmark is running here.") from None
        yield


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
