"""Postings, as the actions of one transaction: a row each for what is theirs alone, and one for each account that they
share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from postdate.domain.movement import Type, place_at
from postdate.domain.payment import Payment
from postdate.domain.posting import Posting, Total, summed
from postdate.domain.slots import ShardPlan, unique_part
from postdate.runtime.author import nobody
from postdate.stores import account_updates, movement_row, payment_row
from postdate.stores.attributes import AttributeMap
from postdate.stores.notes import Note
from postdate.stores.pointers import pointer_attributes

_TOLD: Final = {Type.DEPOSIT: "account.deposited", Type.ADJUSTMENT: "account.adjusted"}


@dataclass(frozen=True, kw_only=True, slots=True)
class RowAction:
    """The action of a transaction on one row."""

    # The action as DynamoDB takes it.
    request: dict[str, Any]
    # The posting that the row belongs to; None for an account that several postings share.
    posting: Posting | None = None
    # The attributes that the action writes; None for an account.
    row: AttributeMap | None = None
    # The account and the sum of its legs; None for any other row.
    account: tuple[str, Total] | None = None
    # The first place that the transaction writes in the journal of the account; None without one.
    place: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Actions:
    """Makes the actions of transactions."""

    # The full names of the three tables.
    payments: str
    accounts: str
    journal: str
    # The number of shards of each minute, for pointers.
    shards: ShardPlan
    # The number of keys over which the list of one account is spread.
    listing_shards: int
    # The author of changes of an account that are told as events.
    author: Callable[[], str] = nobody

    def of(self, together: Sequence[Posting], *, written: int) -> Iterator[RowAction]:
        """`written` is the millisecond at which movements stand in the journal."""
        for posting in together:
            yield from self._own(posting, written)
        at = max(posting.at for posting in together)
        places, notes = _first_places(together, written), self._notes(together)
        for (tenant, _), total in summed(together).items():
            place = places.get((tenant, total.account))
            update = account_updates.update_of(
                self.accounts, tenant, total, at, place=place, notes=notes.get((tenant, total.account), ())
            )
            yield RowAction(request={"Update": update}, account=(tenant, total), place=place)

    def _own(self, posting: Posting, written: int) -> Iterator[RowAction]:
        """The writes of one posting by itself: the payment, its pointer and its movement. Accounts are written for all
        postings together."""
        if posting.after is not None:
            after = self._attributes(posting.after)
            if posting.before is None:
                request = _put(self.payments, after)
            else:
                before = self._attributes(posting.before)
                request = _update(self.payments, before, after)
                after = {name: value for name, value in after.items() if value != before.get(name)}
            yield RowAction(request=request, posting=posting, row=after)
            if posting.points:
                slot = self.shards.slot(posting.after.due_at, unique_part(posting.after.id))
                pointer = pointer_attributes(posting.after, slot)
                yield RowAction(request=_put(self.payments, pointer), posting=posting, row=pointer)
        if posting.movement is not None:
            movement = replace(posting.movement, place=place_at(written, posting.movement.id))
            row = movement_row.attributes_of(movement, listing_shards=self.listing_shards)
            yield RowAction(request=_put(self.journal, row), posting=posting, row=row)

    def _notes(self, together: Sequence[Posting]) -> dict[tuple[str, str], list[Note]]:
        """The notes of deposits and adjustments. The events of a payment tell its own movement."""
        found: dict[tuple[str, str], list[Note]] = {}
        for posting in together:
            movement = posting.movement
            if movement is None or movement.type not in _TOLD:
                continue
            data = {
                "amount": sum(leg.available + leg.reserved for leg in posting.legs),
                "transaction_id": movement.id,
                "reason": movement.reason,
                "reference": movement.reference,
            }
            note = Note(
                type=_TOLD[movement.type],
                at=posting.at,
                by=self.author(),
                data={name: value for name, value in data.items() if value is not None},
            )
            for leg in posting.legs:
                found.setdefault((posting.tenant, leg.account), []).append(note)
        return found

    def _attributes(self, payment: Payment) -> AttributeMap:
        return payment_row.attributes_of(payment, listing_shards=self.listing_shards)


def _first_places(together: Sequence[Posting], written: int) -> dict[tuple[str, str], str]:
    """The first place in each account's journal."""
    found: dict[tuple[str, str], str] = {}
    for movement in (posting.movement for posting in together):
        for name in () if movement is None else (movement.payer, movement.payee):
            if name is not None and movement is not None:
                place = place_at(written, movement.id)
                found[movement.tenant, name] = min(place, found.get((movement.tenant, name), place))
    return found


def _put(table: str, attributes: AttributeMap) -> dict[str, Any]:
    return {
        "Put": {
            "TableName": table,
            "Item": attributes,
            # A row that exists is never replaced.
            "ConditionExpression": "attribute_not_exists(id)",
            # The stored row tells whether an earlier try wrote it.
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def _update(table: str, before: AttributeMap, after: AttributeMap) -> dict[str, Any]:
    """An update of the attributes that change, and of no others, so that those of newer code stay."""
    changed = [name for name in after if after[name] != before.get(name)]
    removed = [name for name in before if name not in after]
    names = {f"#{index}": name for index, name in enumerate(dict.fromkeys(("version", *changed, *removed)))}
    alias = {name: index for index, name in names.items()}
    sets = ", ".join(f"{alias[name]} = :{alias[name][1:]}" for name in changed)
    removes = ", ".join(alias[name] for name in removed)
    values = {f":{alias[name][1:]}": after[name] for name in changed}
    return {
        "Update": {
            "TableName": table,
            "Key": {name: before[name] for name in ("slot", "id")},
            "UpdateExpression": f"SET {sets}" + (f" REMOVE {removes}" if removes else ""),
            # Each change of a payment raises the version, so nothing else has to be compared.
            "ConditionExpression": f"{alias['version']} = :before",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values | {":before": before["version"]},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }
