"""The row of a key in DynamoDB."""

from datetime import datetime
from typing import Any

from pynamodb.attributes import BooleanAttribute, ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection

from postdate.domain import instants
from postdate.stores.api_key import ApiKey
from postdate.stores.rows import Row


class ByTenant(GlobalSecondaryIndex["KeyRow"]):  # type: ignore[no-untyped-call]
    """Written when a key is made and when it goes: neither its use nor its rotation touches it."""

    class Meta:
        index_name = "by_tenant"
        projection = KeysOnlyProjection()

    tenant = UnicodeAttribute(hash_key=True)
    key_id = UnicodeAttribute(range_key=True)


class KeyRow(Row):
    # Attributes of one name with a field of `ApiKey` mean the same. Instants are milliseconds.
    key_id = UnicodeAttribute(hash_key=True)
    secret_sha256 = UnicodeAttribute()
    tenant = UnicodeAttribute(null=True)
    # True for an operator's key; missing for others.
    operator = BooleanAttribute(null=True)
    scopes: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute)
    accounts: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    # Seconds.
    expires_at = NumberAttribute(null=True)
    name = UnicodeAttribute(null=True)
    amount_max = NumberAttribute(null=True)
    amount_per_day_max = NumberAttribute(null=True)
    networks: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    actions: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    read_only = BooleanAttribute(null=True)
    requests_a_second = NumberAttribute(null=True)
    before_sha256 = UnicodeAttribute(null=True)
    before_until = NumberAttribute(null=True)
    made_by = UnicodeAttribute(null=True)
    created_at = NumberAttribute(null=True)
    last_used_at = NumberAttribute(null=True)
    revoked_at = NumberAttribute(null=True)
    # The UTC day whose payments `spent` is the sum of; missing before the first payment.
    spent_on = UnicodeAttribute(null=True)
    spent = NumberAttribute(null=True)
    # So often an amount was given back: the sum alone may be the same again when a lost request is repeated.
    given_back = NumberAttribute(null=True)
    # The number of changes that were told as events, and the newest of them, see `notes`.
    events = NumberAttribute(null=True)
    note = UnicodeAttribute(null=True)
    by_tenant = ByTenant()


def values_of(key: ApiKey) -> dict[str, Any]:
    """The attributes that a key fills, without its id and without the counts of payments and events. None means that
    the attribute is missing. A change compares and writes those of `CHANGED` only."""
    return {
        "secret_sha256": key.secret_sha256,
        "tenant": key.tenant,
        "operator": True if key.tenant is None else None,
        "scopes": sorted(key.scopes),
        "accounts": None if key.accounts is None else sorted(key.accounts),
        "expires_at": None if key.expires_at is None else int(key.expires_at.timestamp()),
        "name": key.name or None,
        "amount_max": key.amount_max,
        "amount_per_day_max": key.amount_per_day_max,
        "networks": None if key.networks is None else list(key.networks),
        "actions": None if key.actions is None else sorted(key.actions),
        "read_only": key.read_only or None,
        "requests_a_second": key.requests_a_second,
        "before_sha256": key.before_sha256,
        "before_until": _milliseconds(key.before_until),
        "made_by": key.made_by or None,
        "created_at": _milliseconds(key.created_at),
        "last_used_at": _milliseconds(key.last_used_at),
        "revoked_at": _milliseconds(key.revoked_at),
    }


def key_of(row: KeyRow) -> ApiKey | None:
    # Only a key that says so is an operator's: a row that lost its tenant is nobody's.
    if (row.tenant is None) != bool(row.operator):
        return None
    return ApiKey(
        id=row.key_id,
        secret_sha256=row.secret_sha256,
        tenant=row.tenant,
        scopes=frozenset(row.scopes),
        accounts=None if row.accounts is None else frozenset(row.accounts),
        expires_at=None if row.expires_at is None else instants.from_milliseconds(int(row.expires_at) * 1000),
        name=row.name or "",
        amount_max=_whole(row.amount_max),
        amount_per_day_max=_whole(row.amount_per_day_max),
        networks=None if row.networks is None else tuple(row.networks),
        actions=None if row.actions is None else frozenset(row.actions),
        read_only=bool(row.read_only),
        requests_a_second=_whole(row.requests_a_second),
        before_sha256=row.before_sha256,
        before_until=_instant(row.before_until),
        made_by=row.made_by or "",
        created_at=_instant(row.created_at),
        last_used_at=_instant(row.last_used_at),
        revoked_at=_instant(row.revoked_at),
    )


def _milliseconds(instant: datetime | None) -> int | None:
    return None if instant is None else instants.milliseconds(instant)


def _instant(milliseconds: float | None) -> datetime | None:
    return None if milliseconds is None else instants.from_milliseconds(int(milliseconds))


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
