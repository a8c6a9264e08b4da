"""The tables as their stores need them, made on the local engine; a test holds them against the template."""

from typing import Any, Final

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "items": ("slot", "id"),
    "payments": ("slot", "id"),
    "accounts": ("account",),
    "journal": ("listing", "id"),
    "payloads": ("id",),
    "idempotency": ("key",),
    "tenants": ("tenant",),
    "keys": ("key_id",),
    "data_keys": ("owner",),
    "slots": ("scope", "name"),
    "flow": ("tenant", "name"),
    "events": ("subject", "sequence"),
    "operations": ("operation", "place"),
    "switches": ("name",),
    "subscriptions": ("tenant", "id"),
}
INDEXES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "items": {
        "by_tenant": ("tenant_listing", "place"),
        "by_state": ("state_listing", "place"),
        "by_listing": ("listing", "id"),
    },
    "payments": {
        "by_tenant": ("tenant_listing", "place"),
        "by_state": ("state_listing", "place"),
        "by_listing": ("listing", "place"),
        "by_payee": ("payee_listing", "place"),
    },
    "flow": {"by_attention": ("attention", "tenant")},
    "accounts": {"by_tenant": ("tenant", "account")},
    "keys": {"by_tenant": ("tenant", "key_id")},
    "operations": {"by_tenant": ("tenant", "operation"), "by_activity": ("active", "operation")},
    "journal": {"by_payer": ("listing", "place"), "by_payee": ("payee_listing", "place")},
}
WHOLE: Final = frozenset({("journal", "by_payer"), ("journal", "by_payee")})
HAVING: Final = {("payments", "by_state"): ("payer", "payee")}


def definition(name: str) -> dict[str, Any]:
    """The part of a table's definition that CreateTable and a template share."""
    indexes = INDEXES.get(name, {})
    attributes = sorted({*KEYS[name], *(key for keys in indexes.values() for key in keys)})
    found: dict[str, Any] = {
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _schema(KEYS[name]),
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in attributes],
    }
    if indexes:
        found["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index,
                "KeySchema": _schema(keys),
                "Projection": _projection(name, index),
            }
            for index, keys in indexes.items()
        ]
    return found


def create(dynamodb: Any, prefix: str) -> dict[str, str]:
    """All of them under a prefix of their own: the names by which the engine knows them."""
    names = {name: f"{prefix}-{name}" for name in KEYS}
    for name, full_name in names.items():
        dynamodb.create_table(TableName=full_name, **definition(name))
    return names


def _projection(name: str, index: str) -> dict[str, Any]:
    if having := HAVING.get((name, index)):
        return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(having)}
    return {"ProjectionType": "ALL" if (name, index) in WHOLE else "KEYS_ONLY"}


def _schema(keys: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        {"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)
    ]
