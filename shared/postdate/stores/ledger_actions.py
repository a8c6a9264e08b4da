"""Postings, as the actions of one transaction: a row each for what is theirs alone, and one for each account that they
share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from postdate.domain.payment import Payment
from postdate.domain.posting import Posting, Total, summed
from postdate.domain.slots import ShardPlan, unique_part
from postdate.stores import account_row, movement_row, payment_row
from postdate.stores.attributes import AttributeMap


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One row of a transaction: a posting's own, as it shall be afterwards in what is written of it, or an account that
    several may share."""

    request: dict[str, Any]
    posting: Posting | None = None
    row: AttributeMap | None = None
    account: tuple[str, Total] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Actions:
    """`payments`, `accounts` and `journal` are the tables' names."""

    payments: str
    accounts: str
    journal: str
    plan: ShardPlan
    listing_shards: int

    def of(self, together: Sequence[Posting]) -> Iterator[Action]:
        for posting in together:
            yield from self._own(posting)
        at = max(posting.at for posting in together)
        for (tenant, _), total in summed(together).items():
            update = account_row.update_of(self.accounts, tenant, total, at)
            yield Action(request={"Update": update}, account=(tenant, total))

    def _own(self, posting: Posting) -> Iterator[Action]:
        if posting.after is not None:
            after = self._attributes(posting.after)
            if posting.before is None:
                request = _put(self.payments, after)
            else:
                before = self._attributes(posting.before)
                request = _update(self.payments, before, after)
                after = {name: value for name, value in after.items() if value != before.get(name)}
            yield Action(request=request, posting=posting, row=after)
            if posting.points:
                slot = self.plan.slot(posting.after.due_at, unique_part(posting.after.id))
                pointer = payment_row.pointer_attributes(posting.after, slot)
                yield Action(request=_put(self.payments, pointer), posting=posting, row=pointer)
        if posting.movement is not None:
            row = movement_row.attributes_of(posting.movement, listing_shards=self.listing_shards)
            yield Action(request=_put(self.journal, row), posting=posting, row=row)

    def _attributes(self, payment: Payment) -> AttributeMap:
        return payment_row.attributes_of(payment, listing_shards=self.listing_shards)


def _put(table: str, attributes: AttributeMap) -> dict[str, Any]:
    return {
        "Put": {
            "TableName": table,
            "Item": attributes,
            "ConditionExpression": "attribute_not_exists(id)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def _update(table: str, before: AttributeMap, after: AttributeMap) -> dict[str, Any]:
    """Only what changes, so that what newer code has added stays."""
    changed = [name for name in after if after[name] != before.get(name)]
    removed = [name for name in before if name not in after]
    names = {f"#{place}": name for place, name in enumerate(dict.fromkeys(("version", *changed, *removed)))}
    alias = {name: place for place, name in names.items()}
    sets = ", ".join(f"{alias[name]} = :{alias[name][1:]}" for name in changed)
    removes = ", ".join(alias[name] for name in removed)
    values = {f":{alias[name][1:]}": after[name] for name in changed}
    return {
        "Update": {
            "TableName": table,
            "Key": {name: before[name] for name in ("slot", "id")},
            "UpdateExpression": f"SET {sets}" + (f" REMOVE {removes}" if removes else ""),
            "ConditionExpression": f"{alias['version']} = :before",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values | {":before": before["version"]},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }
