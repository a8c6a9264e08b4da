"""The bodies of requests about keys."""

from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from functions.api.forms import AccountId, Form, Instant
from functions.api.texts import Seen
from postdate.domain.account import AMOUNT_CAP
from postdate.domain.scopes import OF_TENANTS

OVERLAP_SECONDS_MAX = 7 * 24 * 3600
AMOUNT_PER_DAY_CAP = 1_000_000_000_000
REQUESTS_PER_SECOND_CAP = 10_000
ACTIONS_MAX = 100


def _known(scope: str) -> str:
    if scope not in OF_TENANTS:
        raise ValueError(f"is one of {', '.join(sorted(OF_TENANTS))}")
    return scope


def _block(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        raise ValueError("is a CIDR block such as 203.0.113.0/24 or 2001:db8::/32") from None


class KeyForm(Form):
    """A key can do what its scopes say, within its limits, and never more than the key that makes it."""

    name: Seen = Field(min_length=1, max_length=100)
    scopes: list[Annotated[str, Field(max_length=40), AfterValidator(_known)]] = Field(
        min_length=1, max_length=len(OF_TENANTS)
    )
    account_ids: Annotated[list[AccountId], Field(min_length=1, max_length=100)] | None = None
    amount_max: Annotated[int, Field(ge=1, le=AMOUNT_CAP)] | None = None
    amount_per_day_max: Annotated[int, Field(ge=1, le=AMOUNT_PER_DAY_CAP)] | None = None
    networks: (
        Annotated[
            list[Annotated[str, Field(max_length=49), AfterValidator(_block)]],
            Field(min_length=1, max_length=20),
        ]
        | None
    ) = None
    actions: (
        Annotated[list[Annotated[str, Field(max_length=60)]], Field(min_length=1, max_length=ACTIONS_MAX)]
        | None
    ) = None
    read_only: bool = False
    requests_per_second: Annotated[int, Field(ge=1, le=REQUESTS_PER_SECOND_CAP)] | None = None
    expires_at: Instant | None = None


class RotateForm(Form):
    overlap_seconds: int = Field(0, ge=0, le=OVERLAP_SECONDS_MAX)
