"""An account as a row of the table `accounts`, and what a transaction does to it."""

from datetime import datetime, timedelta
from typing import Any

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection
from pynamodb.models import Model

from postdate.domain import instants
from postdate.domain.account import Account, Limits, Status
from postdate.domain.posting import Total
from postdate.stores.attributes import AttributeMap, typed
from postdate.stores.rows import Connection


class ByTenant(GlobalSecondaryIndex["AccountRow"]):  # type: ignore[no-untyped-call]
    """Written when an account is opened and never again: a balance is not in it."""

    class Meta:
        index_name = "by_tenant"
        projection = KeysOnlyProjection()

    tenant = UnicodeAttribute(hash_key=True)
    account = UnicodeAttribute(range_key=True)


class AccountRow(Model):
    account = UnicodeAttribute(hash_key=True)
    tenant = UnicodeAttribute()
    available = NumberAttribute()
    reserved = NumberAttribute()
    version = NumberAttribute()
    status = UnicodeAttribute()
    created = NumberAttribute()
    updated = NumberAttribute()
    amount_min = NumberAttribute(null=True)
    amount_max = NumberAttribute(null=True)
    delay_min = NumberAttribute(null=True)
    delay_max = NumberAttribute(null=True)
    by_tenant = ByTenant()


def account_rows(table: str) -> type[AccountRow]:
    class Rows(AccountRow):
        class Meta(Connection):
            table_name = table

        by_tenant = ByTenant()

    return Rows


def key(tenant: str, id: str) -> str:
    return f"{tenant}#{id}"


def id_of(key: str) -> str:
    return key.partition("#")[2]


def attributes_of(account: Account) -> AttributeMap:
    usual, own = Limits(), account.limits
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
        "amount_min": None if own.amount_min == usual.amount_min else own.amount_min,
        "amount_max": None if own.amount_max == usual.amount_max else own.amount_max,
        "delay_min": None if own.delay_min == usual.delay_min else _seconds(own.delay_min),
        "delay_max": None if own.delay_max == usual.delay_max else _seconds(own.delay_max),
    }
    return typed(texts, numbers)


def account_of(row: AccountRow) -> Account:
    usual = Limits()
    limits = Limits(
        amount_min=int(row.amount_min or usual.amount_min),
        amount_max=int(row.amount_max or usual.amount_max),
        delay_min=timedelta(seconds=int(row.delay_min)) if row.delay_min else usual.delay_min,
        delay_max=timedelta(seconds=int(row.delay_max)) if row.delay_max else usual.delay_max,
    )
    return Account(
        id=id_of(row.account),
        tenant=row.tenant,
        created_at=instants.from_milliseconds(int(row.created)),
        updated_at=instants.from_milliseconds(int(row.updated)),
        available=int(row.available),
        reserved=int(row.reserved),
        version=int(row.version),
        status=Status(row.status),
        limits=limits,
    )


def update_of(table: str, tenant: str, total: Total, at: datetime) -> dict[str, Any]:
    """Both parts change by their difference, so nothing has to be read before. Each part must have what is taken from
    it: what the same transaction brings does not count."""
    values = {
        ":at": instants.milliseconds(at),
        ":one": 1,
        ":available": total.available,
        ":reserved": total.reserved,
    }
    conditions = ["attribute_exists(#account)"]
    for part, taken in (("available", total.available_taken), ("reserved", total.reserved_taken)):
        if taken:
            values[f":{part}_needed"] = taken
            conditions.append(f"#{part} >= :{part}_needed")
    if total.at_version is not None:
        values[":was"] = total.at_version
        conditions.append("#version = :was")
    typed_values: AttributeMap = {name: {"N": str(value)} for name, value in values.items()}
    names = {f"#{name}": name for name in ("account", "available", "reserved", "version", "updated")}
    if total.needs_active:
        names["#status"] = "status"
        typed_values[":active"] = {"S": Status.ACTIVE.value}
        conditions.append("#status = :active")
    return {
        "TableName": table,
        "Key": {"account": {"S": key(tenant, total.account)}},
        "UpdateExpression": "SET #updated = :at ADD #available :available, #reserved :reserved, #version :one",
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": typed_values,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def status_update_of(table: str, tenant: str, id: str, status: Status, at: datetime) -> dict[str, Any]:
    """Of an account that has another status."""
    return {
        "TableName": table,
        "Key": {"account": {"S": key(tenant, id)}},
        "UpdateExpression": "SET #status = :status, #updated = :at ADD #version :one",
        "ConditionExpression": "attribute_exists(#account) AND #status <> :status",
        "ExpressionAttributeNames": {
            f"#{name}": name for name in ("account", "status", "updated", "version")
        },
        "ExpressionAttributeValues": {
            ":status": {"S": status.value},
            ":at": {"N": str(instants.milliseconds(at))},
            ":one": {"N": "1"},
        },
    }


def _seconds(value: timedelta) -> int:
    return int(value.total_seconds())
