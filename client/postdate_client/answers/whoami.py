"""Types of answers about whoami. `python client/describe.py` writes this file from the API's description."""

from typing import TypedDict, final

from postdate_client.answers.instant import Instant


@final
class Whoami(TypedDict):
    key_id: str
    tenant: str
    scopes: list[str]
    read_only: bool
    account_ids: list[str] | None
    amount_max: int | None
    amount_per_day_max: int | None
    actions: list[str] | None
    networks: list[str] | None
    requests_per_second: int | None
    expires_at: Instant | None
