"""The actions on the items of a slice.

Each item's change is conditional on the version that the plan saw, so a slice that is repeated after a crash changes
nothing more. An item with another version was acted on before the crash, or was changed by another writer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol, TypeAlias

from postdate.domain import operation_items
from postdate.domain.definition import Definition
from postdate.domain.due import PACKET_ITEMS_MAX, Due, Packet, Via
from postdate.domain.operation import Action, Kind, Operation
from postdate.domain.operation_items import Item
from postdate.domain.operation_pages import Entry, Outcome
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.runtime.queue import Queue


class ItemActor(Protocol):
    def known(self, ids: Iterable[str]) -> Mapping[str, Item]:
        """Returns the items that exist, by a consistent read. Raises Unavailable if some cannot be read."""

    def act(self, operation: Operation, items: Sequence[Item], *, now: datetime) -> dict[str, Outcome]:
        """Acts on items that the action is for, each at the version that the plan saw. SENT: the end follows later.
        Raises Unavailable if not all of it could be done: the caller repeats all of it."""

    def tidied(self, most: int) -> int:
        """Deletes letters that are used up, among this many; answers how many they were."""


def acted(actor: ItemActor, operation: Operation, entries: Sequence[Entry], *, now: datetime) -> list[Entry]:
    """The entries after the action."""
    known = actor.known(each.id for each in entries)
    outcomes: dict[str, Outcome] = {}
    fresh: list[Item] = []
    for entry in entries:
        item = known.get(entry.id)
        if item is None or item.tenant != operation.tenant:
            outcomes[entry.id] = Outcome.CHANGED
        elif item.version != entry.version:
            outcomes[entry.id] = _before(operation, entry, item)
        elif operation_items.why_not(operation.request, item, now):
            outcomes[entry.id] = Outcome.CHANGED
        else:
            fresh.append(item)
    outcomes |= actor.act(operation, fresh, now=now)
    return [replace(each, outcome=outcomes[each.id], at=now) for each in entries]


def ended(actor: ItemActor, operation: Operation, entries: Sequence[Entry]) -> list[Entry]:
    """The entries whose ends are known now."""
    known = actor.known(each.id for each in entries)
    told = [
        replace(each, outcome=operation_items.outcome_of(operation, each, known.get(each.id)))
        for each in entries
    ]
    return [each for each in told if each.outcome is not Outcome.SENT]


def _before(operation: Operation, entry: Entry, item: Item) -> Outcome:
    if not operation_items.was_acted_on(operation, entry, item):
        return Outcome.CHANGED
    at_once = operation.request.action is Action.CANCEL or isinstance(item, Definition)
    return Outcome.DONE if at_once else Outcome.SENT


def send_calls(queue: Queue, operation: Operation, items: Sequence[Task | Payment], via: Via) -> None:
    """The worker signs with the operation what follows from the calls of the dead."""
    starts = range(0, len(items), PACKET_ITEMS_MAX)
    packets = [tuple(map(Due.of, items[start : start + PACKET_ITEMS_MAX])) for start in starts]
    by = operation.author if via is Via.DEAD else ""
    if packets:
        queue.send([Packet(tenant=operation.tenant, via=via, dues=dues, by=by) for dues in packets])


Actors: TypeAlias = Mapping[Kind, ItemActor]
