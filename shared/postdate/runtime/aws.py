"""AWS clients with waits that fit a function: made once, on the first event.

What they send is built by the stores and the queue, whose contract tests check it: checking each request's form once
more, as botocore would, takes a good part of a batch's time.
"""

from functools import cache
from typing import Any

import boto3
from botocore.config import Config


@cache
def client(service: str, *, tries: int = 4) -> Any:
    waits = Config(
        connect_timeout=2,
        read_timeout=3,
        retries={"mode": "standard", "max_attempts": tries},
        max_pool_connections=64,
        parameter_validation=False,
    )
    return boto3.client(service, config=waits)
