"""The AWS account that the environment's credentials are for, and one line for each reason not to reach it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    HTTPClientError,
    NoCredentialsError,
)

from cli.failure import NotReady

CREDENTIALS: Final = "credentials (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"
REGION: Final = "a region (AWS_REGION, or `region` in the profile)"

_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """`session` carries the credentials that were found, for the region that was found."""

    id: str
    region: str
    session: Any

    def client(self, service: str) -> Any:
        return _client(self.session, service)

    def __str__(self) -> str:
        return f"account {self.id} in {self.region}"


def account() -> Account:
    """Asks AWS whose credentials these are. Raises NotReady without credentials, region or network."""
    session = _session()
    with answering(f"AWS in {session.region_name}"):
        identity = _client(session, "sts").get_caller_identity()
    return Account(id=identity["Account"], region=session.region_name, session=session)


def denied(error: ClientError) -> bool:
    """The credentials are good, and may not ask this."""
    return error.response["Error"]["Code"] in _DENIED


@contextmanager
def answering(whom: str) -> Iterator[None]:
    """Turns the ways in which AWS gives no answer, or refuses the credentials, into one line each."""
    try:
        yield
    except (ConnectionError, HTTPClientError) as error:
        raise NotReady(f"{whom} cannot be reached: is there a network? ({_line(error)})") from error
    except NoCredentialsError as error:
        raise NotReady(f"AWS needs {CREDENTIALS}, and none were found.") from error
    except BotoCoreError as error:
        raise NotReady(f"The AWS credentials cannot be used: {_line(error)}") from error
    except ClientError as error:
        told = error.response["Error"]
        raise NotReady(
            f"{whom} refuses the credentials: {told['Code']}: {told.get('Message', '')}"
        ) from error


def _session() -> Any:
    """botocore does not read AWS_REGION, which the CDK and every other tool do."""
    with answering("AWS"):
        session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
        found = {REGION: session.region_name, CREDENTIALS: session.get_credentials()}
    missing = [what for what, value in found.items() if not value]
    if missing:
        raise NotReady(f"AWS needs {' and '.join(missing)}, and none was found.")
    return session


def _client(session: Any, service: str) -> Any:
    waits = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 2})
    return session.client(service, config=waits)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
