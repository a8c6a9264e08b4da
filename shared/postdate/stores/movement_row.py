"""A movement as a row of the table `journal`.

Its key is the payer's listing and an id that is a function of the payment, so that no payment moves its amount twice.
Two indexes, of the payer and of the payee, have the order in which the rows were written.
"""

import json
from typing import Any

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from postdate.domain import instants
from postdate.domain.movement import Movement, Type
from postdate.stores.attributes import AttributeMap, compact, typed
from postdate.stores.payment_row import listing_key
from postdate.stores.rows import Row, TableConnection


class ByPayer(GlobalSecondaryIndex["MovementRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_payer"
        projection = AllProjection()

    listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)


class ByPayee(GlobalSecondaryIndex["MovementRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_payee"
        projection = AllProjection()

    payee_listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)


class MovementRow(Row):
    # The list of the payer, or of the only account; numbers spread the list over several keys.
    listing = UnicodeAttribute(hash_key=True)
    # Made from the id of a payment, so a second movement of that payment meets this row.
    id = UnicodeAttribute(range_key=True)
    # The order of both lists, see `Movement.place`.
    place = UnicodeAttribute()
    # The list of the payee; missing if the money leaves the service or comes from outside.
    payee_listing = UnicodeAttribute(null=True)
    tenant = UnicodeAttribute()
    type = UnicodeAttribute()
    payer = UnicodeAttribute(null=True)
    payee = UnicodeAttribute(null=True)
    amount = NumberAttribute()
    # Milliseconds.
    at = NumberAttribute()
    payment_id = UnicodeAttribute(null=True)
    reason = UnicodeAttribute(null=True)
    reference = UnicodeAttribute(null=True)
    description = UnicodeAttribute(null=True)
    # JSON; missing without pairs.
    metadata = UnicodeAttribute(null=True)
    by_payer = ByPayer()
    by_payee = ByPayee()


def movement_rows(table: str) -> type[MovementRow]:
    class Rows(MovementRow):
        class Meta(TableConnection):
            table_name = table

        by_payer = ByPayer()
        by_payee = ByPayee()

    return Rows


def key(movement: Movement, *, listing_shards: int) -> AttributeMap:
    written = attributes_of(movement, listing_shards=listing_shards)
    return {name: written[name] for name in ("listing", "id")}


def attributes_of(movement: Movement, *, listing_shards: int) -> AttributeMap:
    """The attributes of a journal row. A movement from or to the outside is listed under its one account, always with
    the first listing key: only its own key keeps it from being written twice, so the key must not depend on the
    number of listings."""
    between = movement.payer is not None and movement.payee is not None
    number = ord(movement.id[-1]) % listing_shards if between else 0
    first, second = movement.payer, movement.payee
    if first is None:
        first, second = second, None
    if first is None:
        raise ValueError("a movement without an account")
    texts = {
        "listing": listing_key(movement.tenant, first, number),
        "id": movement.id,
        "place": movement.place,
        "payee_listing": None if second is None else listing_key(movement.tenant, second, number),
        "tenant": movement.tenant,
        "type": movement.type.value,
        "payer": movement.payer,
        "payee": movement.payee,
        "payment_id": movement.payment_id,
        "reason": movement.reason,
        "reference": movement.reference,
        "description": movement.description,
        "metadata": compact(movement.metadata) if movement.metadata else None,
    }
    return typed(texts, {"amount": movement.amount, "at": instants.milliseconds(movement.at)})


def movement_of(row: Any) -> Movement:
    return Movement(
        id=row.id,
        tenant=row.tenant,
        type=Type(row.type),
        payer=row.payer,
        payee=row.payee,
        amount=int(row.amount),
        at=instants.from_milliseconds(int(row.at)),
        payment_id=row.payment_id,
        reason=row.reason,
        reference=row.reference,
        description=row.description,
        metadata=tuple((name, value) for name, value in json.loads(row.metadata or "[]")),
        place=row.place,
    )
