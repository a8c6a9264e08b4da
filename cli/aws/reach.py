"""The tables of an environment, reached with the environment's credentials."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from cli import tenants
from cli.aws.account import Account, account
from cli.failure import Failure, NotReady
from infra.environments import ENVIRONMENTS
from postdate.domain.errors import Unavailable
from postdate.stores.faults import REFUSALS


@contextmanager
def reaching(environment: str) -> Iterator[None]:
    """Raises NotReady without credentials, region, network or stack, each in one line."""
    found = account()
    os.environ["AWS_DEFAULT_REGION"] = found.region
    try:
        yield
    except Unavailable as error:
        raise Failure(f"{found} did not answer in time: try again. ({error})") from error
    except REFUSALS as error:
        if getattr(error, "cause_response_code", None) == "ResourceNotFoundException":
            raise NotReady(_no_stack(environment, found)) from error
        raise Failure(f"The tables of {environment} could not be used: {error}") from error


def _no_stack(environment: str, found: Account) -> str:
    return f"There is no stack of {environment} in {found}: `make deploy ENV={environment}` makes it."


def reached_keys(environment: str) -> tenants.KeyTable:
    """The API keys of the environment that is reached."""
    of = ENVIRONMENTS[environment]
    return tenants.key_table(
        of.table("keys"), of.table("data_keys"), of, kms=partial(account().client, "kms")
    )
