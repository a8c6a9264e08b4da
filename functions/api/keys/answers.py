"""The answers about keys."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from typing_extensions import TypedDict

from functions.api.answers import Cursor, Instant, described
from functions.api.forms import text_of
from postdate.stores.api_key import ApiKey

Status: TypeAlias = Literal["ACTIVE", "REVOKED", "EXPIRED"]


class Key(TypedDict):
    key_id: str
    prefix: Annotated[str, described("How the key's text begins: no secret.")]
    name: str
    status: Annotated[Status, described("A key that no longer works is listed for about two more days.")]
    scopes: list[str]
    account_ids: Annotated[
        list[str] | None, described("The accounts it pays from and administers; null for all.")
    ]
    amount_max: Annotated[int | None, described("Of one payment; null for no limit of the key.")]
    amount_per_day_max: Annotated[int | None, described("Of all payments of a UTC day; null for no limit.")]
    networks: Annotated[list[str] | None, described("Where its requests may come from; null for anywhere.")]
    actions: Annotated[
        list[str] | None, described("The only operations that it may ask for; null for all of its scopes.")
    ]
    read_only: Annotated[bool, described("True if it may ask for nothing that writes.")]
    requests_per_second: Annotated[
        int | None, described("Of all its requests; null for no limit of the key.")
    ]
    created_at: Annotated[Instant | None, described("null for keys of releases that did not keep it.")]
    made_by: Annotated[str | None, described("The id of the key that made it; null for the command line.")]
    expires_at: Instant | None
    last_used_at: Annotated[Instant | None, described("Up to a minute old; null if it was never used.")]
    previous_until: Annotated[
        Instant | None,
        described("Until when the secret before the last rotation works; null if it does not."),
    ]


class NewKey(Key):
    key: Annotated[str, described("The key's text. It is told only now: Postdate keeps a hash of it.")]


class KeyList(TypedDict):
    keys: list[Key]
    next_cursor: Cursor


def of(key: ApiKey, now: datetime) -> Key:
    overlaps = key.before_until is not None and now < key.before_until
    return {
        "key_id": key.id,
        "prefix": key.prefix,
        "name": key.name,
        "status": status_of(key, now),
        "scopes": sorted(key.scopes),
        "account_ids": None if key.accounts is None else sorted(key.accounts),
        "amount_max": key.amount_max,
        "amount_per_day_max": key.amount_per_day_max,
        "networks": None if key.networks is None else list(key.networks),
        "actions": None if key.actions is None else sorted(key.actions),
        "read_only": key.read_only,
        "requests_per_second": key.requests_a_second,
        "created_at": text_of(key.created_at),
        "made_by": key.made_by or None,
        "expires_at": text_of(key.expires_at),
        "last_used_at": text_of(key.last_used_at),
        "previous_until": text_of(key.before_until) if overlaps else None,
    }


def status_of(key: ApiKey, now: datetime) -> Status:
    if key.revoked_at is not None:
        return "REVOKED"
    return "ACTIVE" if key.is_live(now) else "EXPIRED"
