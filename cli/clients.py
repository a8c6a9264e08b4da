"""AWS clients for the environment that a command names: the local engine's, or those of the account."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cli.aws.account import account
from cli.aws.reach import reaching
from cli.local import aws as local
from cli.local.place import Place
from infra.environments import Environment


@contextmanager
def clients(environment: Environment, port: int) -> Iterator[Callable[[str], Any]]:
    """`port` is that of the local stack."""
    if environment.name == "local":
        with local.speaking_to(Place.of(port, os.environ)):
            yield local.client
        return
    with reaching(environment.name):
        yield account().client
