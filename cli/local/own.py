"""A local stack of a run's own, brought up by the same code as `make up` on a free port, and gone when the run ends."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from cli.failure import Failure
from cli.local import aws, ministack
from cli.local.once import ROOT, alone
from cli.local.place import Place
from cli.local.stack import Stack
from cli.local.up import up
from cli.progress import say, step

FUNCTION: Final = "postdate-local-{}"


@contextmanager
def own(name: str) -> Iterator[tuple[Place, Stack]]:
    """Starts a stack of its own for a command, and points this process to it. A stack that an interrupted run left is
    stopped first. Only one of each name runs at a time, because two would disturb each other."""
    home = Path(os.environ.get("POSTDATE_LOCAL_DIR", ROOT / ".local")).absolute() / name
    with _the_only_one(home.with_name(f"{name}.lock"), name):
        place = Place(port=_free_port(), directory=home)
        _taken_down(place)
        say(f"The {name}'s own stack, on port {place.port}:")
        try:
            stack = up(place)
            with aws.speaking_to(place):
                yield place, stack
        finally:
            with step(f"taking the {name}'s stack down"):
                _taken_down(place)


def environment(*functions: str) -> dict[str, str]:
    """The environment variables of the deployed functions, which name all sizes and resources."""
    client: Any = aws.client("lambda")
    found: dict[str, str] = {}
    for function in functions:
        described = client.get_function_configuration(FunctionName=FUNCTION.format(function))
        found |= described["Environment"]["Variables"]
    return found


def _taken_down(place: Place) -> None:
    with alone(place.lock):
        ministack.stop(place)


@contextmanager
def _the_only_one(lock: Path, name: str) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"Another {name} is running here.") from None
        yield


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
