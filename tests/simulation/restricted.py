"""I17: a key pays no more than it may, and its day's sum is what it paid."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.simulation.engine import Change, Row
from tests.simulation.hub import Actor
from tests.simulation.rows import is_payment, number, text
from tests.simulation.seen import Broken, Seen

_PAYMENTS: Final = "payments"


@dataclass(kw_only=True, slots=True)
class Key:
    """A key with restrictions. `paid` is the sum of what was written under it, `unknown` that of the requests in which
    something went wrong: they may be counted although they wrote nothing."""

    id: str
    most: int
    amount_max: int
    accounts: frozenset[str]
    paid: int = 0
    unknown: int = 0


def i17_a_key_pays_what_it_may(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for change in changes if seen.restricted else ():
        before, after = change.before, change.after
        if change.table != _PAYMENTS or after is None or "history" not in after or not is_payment(after):
            continue
        key = seen.restricted.get(_author(after))
        if key is None or (before is not None and number(before, "version") == number(after, "version")):
            continue
        amount = number(after, "amount")
        if before is not None and number(before, "amount") == amount:
            continue
        key.paid += amount
        seen.reach["paid under a restricted key"] += 1
        if key.paid > key.most:
            raise Broken(f"I17: the key {key.id} pays {key.paid} on a day, and may pay {key.most}")
        if amount > key.amount_max:
            raise Broken(f"I17: the key {key.id} pays {amount} at once, and may pay {key.amount_max}")
        if text(after, "payer") not in key.accounts:
            raise Broken(f"I17: the key {key.id} pays from {text(after, 'payer')}, to which it is not bound")


def i17_the_sum_of_a_day_is_what_was_paid(seen: Seen) -> None:
    for key in seen.restricted.values():
        row = seen.engine.row("keys", key.id)
        spent = 0 if row is None else number(row, "spent")
        if not key.paid <= spent <= key.paid + key.unknown:
            raise Broken(
                f"I17: {spent} is counted for the key {key.id}, which paid {key.paid}, and {key.unknown} is unknown"
            )


def _author(row: Row) -> str:
    """The key that signed the newest version."""
    lines = row["history"]["L"]
    return str(lines[-1]["S"]).rpartition("key:")[2] if lines else ""
