"""Pointers: rows in the slot of an instant to which a task or a payment moved. The item's own row stays in its slot."""

from datetime import timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.item import Item
from postdate.domain.slots import Slot
from postdate.stores.attributes import AttributeMap, typed

_KEPT: Final = timedelta(days=40)


def pointer_attributes(item: Item, slot: Slot, *, for_audit: bool = False) -> AttributeMap:
    """The version in the key keeps two moves into one slot apart. A pointer `for_audit` lies in a slot in which the
    item is not due: only the audit of the slot reads it."""
    id = f"{item.id}~{item.version}{'~audit' if for_audit else ''}"
    texts = {"slot": slot.key, "id": id, "tenant": item.tenant, "points_to": item.id}
    numbers = {
        "version": item.version,
        "due": instants.milliseconds(item.due_at),
        "moved": instants.milliseconds(item.moved_at),
        "expires_at": int((instants.end_of(slot.minute) + _KEPT).timestamp()),
    }
    return typed(texts, numbers)
