"""The engines that stand in for AWS: MiniStack for every service, or for all but DynamoDB.

With `--engine=dynamodb-local` DynamoDB is Amazon's own engine, which `make test ENGINE=dynamodb-local` builds first.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import boto3
from botocore.config import Config

from cli.local import aws
from cli.local.place import Place
from tests import tables
from tests.dynamodb_local.build import BUILT, JARS

MINISTACK: Final = "ministack"
DYNAMODB_LOCAL: Final = "dynamodb-local"
_JAVA: Final = (
    "java",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    f"-Dsqlite4java.library.path={JARS}",
    f"--class-path={BUILT}:{JARS}/*",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Engines:
    """`place` is MiniStack's, `dynamodb_url` where DynamoDB listens if that is another engine."""

    place: Place
    dynamodb_url: str | None = None


@contextmanager
def speaking_to(engines: Engines) -> Iterator[None]:
    """Sets this process's environment so that its own clients find the engines."""
    with aws.speaking_to(engines.place):
        if engines.dynamodb_url:
            os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engines.dynamodb_url
        yield


@contextmanager
def dynamodb_local() -> Iterator[str]:
    """The engine's address, once the engine has made a table. The engine ends with its standard input, even if
    this process is killed."""
    if not (BUILT / "Loopback.class").exists():
        raise RuntimeError("DynamoDB Local is not built: `make test ENGINE=dynamodb-local` does that first")
    java = subprocess.Popen(
        [*_JAVA, "Loopback"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "DDB_LOCAL_TELEMETRY": "0"},
    )
    with java:
        assert java.stdin is not None
        assert java.stdout is not None
        url = f"http://127.0.0.1:{int(java.stdout.readline())}"
        _warm_up(url)
        yield url
        java.stdin.close()
        java.wait(timeout=10)


def _warm_up(url: str) -> None:
    """The first table takes seconds on a busy machine. A client of the functions gives up after three, asks again, and
    is told that the table exists."""
    patient = boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name=aws.REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(read_timeout=60, retries={"total_max_attempts": 1}),
    )
    patient.create_table(TableName="warm-items", **tables.definition("items"))
    patient.delete_table(TableName="warm-items")
