"""Speaking to the local engine as its root user, and to nothing else.

Whatever the machine has of AWS settings and proxies stays out: a slip must not reach a real account.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import boto3
from botocore.config import Config

from cli.local.place import Place

REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
CREDENTIALS: Final = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
PROXIES: Final = frozenset({"http_proxy", "https_proxy", "all_proxy"})


def environment(place: Place) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AWS_") and name.lower() not in PROXIES
    }
    return {
        **kept,
        **CREDENTIALS,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": place.endpoint_url,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@contextmanager
def speaking_to(place: Place) -> Iterator[None]:
    """Points the clients of this process to the local engine by environment variables, those of the stores included."""
    before = dict(os.environ)
    ours = environment(place)
    os.environ.clear()
    os.environ.update(ours)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def client(service: str) -> Any:
    return boto3.Session().client(
        service, config=Config(connect_timeout=2, read_timeout=10, retries={"total_max_attempts": 3})
    )
