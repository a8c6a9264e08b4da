"""`GET /api/v1/whoami`: the key that asks, as far as its holder needs to know it."""

from typing import Annotated, Final

from typing_extensions import TypedDict

from functions.api.answers import told
from functions.api.caller import ANY, Caller
from functions.api.operation import Routes

WHOAMI: Final = Routes("/api/v1/whoami")


class Whoami(TypedDict):
    key_id: str
    tenant: Annotated[str, told("The tenant that the request acts for.")]
    scopes: Annotated[list[str], told("In alphabetical order.")]
    read_only: Annotated[
        bool, told("True if the key may ask for no operation that writes, whatever its scopes say.")
    ]
    account_ids: Annotated[
        list[str] | None,
        told("The accounts that the key may pay from and administer; null for all of the tenant's."),
    ]


@WHOAMI.serves(
    "get",
    "",
    name="whoami",
    summary="Describe the key that asks",
    text="Tenant, scopes and accounts of the key. Every key may ask.",
    scope=ANY,
    example={
        "key_id": "3jq6c1w",
        "tenant": "demo",
        "scopes": ["payments:read", "tasks:read"],
        "read_only": False,
        "account_ids": None,
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
    }
