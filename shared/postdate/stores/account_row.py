"""An account as a row of the table `accounts`."""

from datetime import timedelta
from typing import Any, Final

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection
from pynamodb.models import Model

from postdate.domain import instants
from postdate.domain.account import Account, Limits, Status
from postdate.stores import notes as noted
from postdate.stores.attributes import AttributeMap, typed
from postdate.stores.notes import Note
from postdate.stores.rows import TableConnection

# The meaning of a row without an attribute of this name. The meaning of a stored row never changes, whatever the code's
# own defaults become.
LIMITS: Final = {"amount_min": 1, "amount_max": 1_000_000, "delay_min": 1, "delay_max": 31_536_000}


class ByTenant(GlobalSecondaryIndex["AccountRow"]):  # type: ignore[no-untyped-call]
    """Written when an account is opened and never again: a balance is not in it."""

    class Meta:
        index_name = "by_tenant"
        projection = KeysOnlyProjection()

    tenant = UnicodeAttribute(hash_key=True)
    account = UnicodeAttribute(range_key=True)


class AccountRow(Model):
    # The tenant and the id, see `key`.
    account = UnicodeAttribute(hash_key=True)
    # The owner, which is the key of the index.
    tenant = UnicodeAttribute()
    # Whole units. Transactions add differences, and nothing else writes the two.
    available = NumberAttribute()
    reserved = NumberAttribute()
    # One more with each change of money, status or limits.
    version = NumberAttribute()
    status = UnicodeAttribute()
    # Instants in milliseconds.
    created = NumberAttribute()
    updated = NumberAttribute()
    # The account's own limits, delays in seconds. A missing one has its value in LIMITS.
    amount_min = NumberAttribute(null=True)
    amount_max = NumberAttribute(null=True)
    delay_min = NumberAttribute(null=True)
    delay_max = NumberAttribute(null=True)
    # The last place of the journal that a reader was shown; missing before the first reader.
    journal = UnicodeAttribute(null=True)
    by_tenant = ByTenant()


def account_rows(table: str) -> type[AccountRow]:
    class Rows(AccountRow):
        class Meta(TableConnection):
            table_name = table

        by_tenant = ByTenant()

    return Rows


def key(tenant: str, id: str) -> str:
    return f"{tenant}#{id}"


def id_of(key: str) -> str:
    return key.partition("#")[2]


def keys_behind(tenant: str, after: str, prefix: str) -> tuple[str, str]:
    """The first and the last key that an account behind `after` may have whose id begins with `prefix`. Ids are
    visible ASCII characters."""
    first = key(tenant, prefix if after < prefix else f"{after}\0")
    return first, key(tenant, f"{prefix}\x7f")


def opening_of(table: str, account: Account, *, by: str = "") -> dict[str, Any]:
    note = Note(type="account.opened", at=account.created_at, by=by)
    return {
        "TableName": table,
        "Item": attributes_of(account) | noted.first(note),
        "ConditionExpression": "attribute_not_exists(account)",
    }


def attributes_of(account: Account) -> AttributeMap:
    texts = {
        "account": key(account.tenant, account.id),
        "tenant": account.tenant,
        "status": account.status.value,
    }
    numbers = {
        "available": account.available,
        "reserved": account.reserved,
        "version": account.version,
        "created": instants.milliseconds(account.created_at),
        "updated": instants.milliseconds(account.updated_at),
    }
    return typed(texts, numbers) | limit_values(account.limits)


def account_of(row: AccountRow) -> Account:
    limits = {name: int(getattr(row, name) or usual) for name, usual in LIMITS.items()}
    return Account(
        id=id_of(row.account),
        tenant=row.tenant,
        created_at=instants.from_milliseconds(int(row.created)),
        updated_at=instants.from_milliseconds(int(row.updated)),
        available=int(row.available),
        reserved=int(row.reserved),
        version=int(row.version),
        status=Status(row.status),
        limits=Limits(
            amount_min=limits["amount_min"],
            amount_max=limits["amount_max"],
            delay_min=timedelta(seconds=limits["delay_min"]),
            delay_max=timedelta(seconds=limits["delay_max"]),
        ),
        journal_read_to=row.journal or "",
    )


def limit_values(limits: Limits) -> AttributeMap:
    """The limits that a row stores: those that differ from the default of the row."""
    numbers = {
        "amount_min": limits.amount_min,
        "amount_max": limits.amount_max,
        "delay_min": _seconds(limits.delay_min),
        "delay_max": _seconds(limits.delay_max),
    }
    return typed({}, {name: value for name, value in numbers.items() if value != LIMITS[name]})


def _seconds(value: timedelta) -> int:
    return int(value.total_seconds())
