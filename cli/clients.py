"""AWS clients for the environment that a command names: the local engine's, or those of the account."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import EndpointConnectionError

from cli.aws.account import account
from cli.aws.reach import reaching
from cli.failure import NotReady
from cli.local import aws as local
from cli.local.place import Place
from infra.environment import Environment


@contextmanager
def clients(environment: Environment, port: int) -> Iterator[Callable[[str], Any]]:
    """`port` is that of the local stack. A stack that does not run is told as a sentence."""
    if environment.name == "local":
        place = Place.of(port, os.environ)
        try:
            with local.speaking_to(place):
                yield local.client
        except EndpointConnectionError as error:
            raise NotReady(f"No local stack answers on port {place.port}. Start one: make up") from error
        return
    with reaching(environment.name):
        yield account().client
