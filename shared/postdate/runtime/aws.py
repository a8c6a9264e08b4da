"""AWS clients with waits that fit a function: made once, while the function starts.

What they send is built by the stores and the queue, whose contract tests check it: checking each request's form once
more, as botocore would, takes a good part of a batch's time.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.handlers import add_recursion_detection_header

from postdate.runtime.deadline import bind
from postdate.runtime.dependencies import watch

_CONNECT_SECONDS: Final = 2
_READ_SECONDS: Final = 3
# The longest that one try of a call takes.
CALL_SECONDS: Final = _CONNECT_SECONDS + _READ_SECONDS
# For calls whose answer is not needed: they may delay one event a little.
_QUICK_SECONDS: Final = 0.5
_CONNECTIONS: Final = 64
_CONNECTIONS_OF_A_ROLE: Final = 8


@cache
def client(service: str, *, tries: int = 4) -> Any:
    made = boto3.client(service, config=_waits(tries, _CONNECTIONS))
    bind(made)
    watch(made)
    if service == "sqs":
        # A message that carries a sampled trace makes its receiver record one as well, and pay for it.
        made.meta.events.unregister("before-call", add_recursion_detection_header)
    return made


@cache
def quick_client(service: str) -> Any:
    """A client for answers that the caller can do without: one try of at most a second."""
    waits = Config(
        connect_timeout=_QUICK_SECONDS,
        read_timeout=_QUICK_SECONDS,
        retries={"mode": "standard", "max_attempts": 1},
        parameter_validation=False,
    )
    made = boto3.client(service, config=waits)
    bind(made)
    watch(made)
    return made


@cache
def patient_client(service: str, *, seconds: int) -> Any:
    """A client for calls that work for so long. They are tried once."""
    waits = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=seconds,
        retries={"mode": "standard", "max_attempts": 1},
        parameter_validation=False,
    )
    made = boto3.client(service, config=waits)
    bind(made)
    watch(made)
    return made


def client_with(service: str, credentials: Mapping[str, str], *, tries: int = 3) -> Any:
    """A client with the credentials of an assumed role, in place of the function's own. Each call makes a new one."""
    made = boto3.client(
        service,
        config=_waits(tries, _CONNECTIONS_OF_A_ROLE),
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
    )
    watch(made)
    return made


def _waits(tries: int, connections: int) -> Config:
    return Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
        retries={"mode": "standard", "max_attempts": tries},
        max_pool_connections=connections,
        parameter_validation=False,
    )
