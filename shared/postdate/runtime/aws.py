"""AWS clients with waits that fit a function: made once, on the first event."""

from functools import cache
from typing import Any

import boto3
from botocore.config import Config

_WAITS = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "max_attempts": 4},
    max_pool_connections=64,
)


@cache
def client(service: str) -> Any:
    return boto3.client(service, config=_WAITS)
