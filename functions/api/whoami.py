"""`GET /api/v1/whoami`: the key that asks, as far as its holder needs to know it."""

from typing import Annotated, Final

from typing_extensions import TypedDict

from functions.api import requests
from functions.api.answers import Instant, described
from functions.api.caller import ANY, Caller
from functions.api.forms import text_of
from functions.api.operation import Routes

WHOAMI: Final = Routes("/api/v1/whoami")


class Whoami(TypedDict):
    key_id: str
    tenant: Annotated[str, described("The tenant that the request acts for.")]
    scopes: Annotated[list[str], described("In alphabetical order.")]
    read_only: Annotated[
        bool, described("True if the key may ask for no operation that writes, whatever its scopes say.")
    ]
    account_ids: Annotated[
        list[str] | None,
        described("The accounts that the key may pay from and administer; null for all of the tenant's."),
    ]
    amount_max: Annotated[
        int | None, described("The greatest payment that the key may schedule; null for no limit of the key.")
    ]
    amount_per_day_max: Annotated[
        int | None,
        described(
            "The greatest sum of the payments that the key may schedule on a UTC day; null for no limit."
        ),
    ]
    actions: Annotated[
        list[str] | None,
        described("The only operations that the key may ask for; null for all operations of its scopes."),
    ]
    networks: Annotated[list[str] | None, described("Where its requests may come from; null for anywhere.")]
    requests_per_second: Annotated[
        int | None, described("Of all its requests; null for no limit of the key.")
    ]
    expires_at: Annotated[
        Instant | None, described("The end of the key or of the issuer's token; null if it has none.")
    ]


@WHOAMI.serves(
    "get",
    "",
    name="whoami",
    summary="Describe the key that asks",
    text="Tenant, scopes and restrictions of the key. Every key may ask.",
    scope=ANY,
    example={
        "key_id": "3jq6c1w",
        "tenant": "demo",
        "scopes": ["payments:read", "tasks:read"],
        "read_only": False,
        "account_ids": None,
        "amount_max": 1000,
        "amount_per_day_max": None,
        "actions": None,
        "networks": None,
        "requests_per_second": None,
        "expires_at": "2027-11-18T00:00:00.000Z",
    },
    codes=(),
)
def whoami(caller: Caller) -> Whoami:
    return {
        "key_id": caller.key_id,
        "tenant": caller.tenant,
        "scopes": sorted(caller.scopes),
        "read_only": caller.read_only,
        "account_ids": None if caller.accounts is None else sorted(caller.accounts),
        "amount_max": caller.amount_max,
        "amount_per_day_max": caller.amount_per_day_max,
        "actions": None if caller.actions is None else sorted(caller.actions),
        "networks": None if caller.networks is None else list(caller.networks),
        "requests_per_second": caller.requests_a_second,
        "expires_at": text_of(caller.expires_at or requests.token_ends_at(WHOAMI.router.current_event)),
    }
