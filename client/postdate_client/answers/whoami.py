"""Types of the answers about whoami. `python client/describe.py` writes this file from the API's description."""

from typing import TypedDict, final


@final
class Whoami(TypedDict):
    key_id: str
    tenant: str
    scopes: list[str]
    read_only: bool
    account_ids: list[str] | None
