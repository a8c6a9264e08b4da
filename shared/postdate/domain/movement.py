"""A movement: one row of the journal. One transaction writes it with the balances that it changes. No code changes it
later."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from postdate.domain import base32, instants
from postdate.domain.slots import home

KIND = "txn"
# Milliseconds have 13 digits until the year 2286, so places sort by time.
PLACE_DIGITS = 13
# 45 bits of milliseconds.
_TIME_CHARACTERS = 9


class Type(StrEnum):
    PAYMENT = "PAYMENT"
    DEPOSIT = "DEPOSIT"
    REFUND = "REFUND"
    ADJUSTMENT = "ADJUSTMENT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Movement:
    """An amount that left one account and reached another."""

    # Begins with the instant; of a payment's movement, made from the payment's id.
    id: str
    # The owner of the accounts.
    tenant: str
    # The reason for the movement, by kind.
    type: Type
    # The account that the amount leaves; None if the money comes from outside.
    payer: str | None
    # The account that the amount reaches; None if the money goes outside.
    payee: str | None
    # Whole units of the currency, above 0.
    amount: int
    # The instant of the decision; of a deposit, of its first request.
    at: datetime
    # The payment that moved the amount; None for deposits and adjustments.
    payment_id: str | None = None
    # An administrator's reason for an adjustment; None for other types.
    reason: str | None = None
    # The depositor's own id for a deposit; None for other types, or if the request gave none.
    reference: str | None = None
    # The depositor's text; None for other types, or if the request gave none.
    description: str | None = None
    # The depositor's pairs, sorted by name; empty for other types.
    metadata: tuple[tuple[str, str], ...] = ()
    # The place in the journals of both accounts, in the order of writing. The ledger sets it when it writes; empty
    # before.
    place: str = field(default="", compare=False)

    @property
    def written_at(self) -> datetime:
        return instants.from_milliseconds(int(self.place[:PLACE_DIGITS]))

    @property
    def legs(self) -> tuple[tuple[str | None, int], tuple[str | None, int]]:
        return (self.payer, -self.amount), (self.payee, self.amount)

    def effect_on(self, account: str) -> int:
        return sum(amount for name, amount in self.legs if name == account)


def place_at(milliseconds: int, id: str = "") -> str:
    """The place of a movement in a journal. Without an id, the first place of that millisecond."""
    return f"{milliseconds:0{PLACE_DIGITS}d}{id}"


def behind(place: str) -> int:
    """The first millisecond whose places all come after this place."""
    return int(place[:PLACE_DIGITS]) + 1


def movement_id(at: datetime, unique: str) -> str:
    """An id. Ids sort by the instant."""
    return f"{KIND}_{base32.encode(instants.milliseconds(at), _TIME_CHARACTERS)}{unique}"


def payment_movement_id(payment_id: str) -> str:
    """The id of a payment's only movement. The id does not depend on the payment's instant, so a second movement meets
    the first. A payment that a restored table shows with an older instant cannot move its amount again. Ids of one
    minute have no order."""
    return movement_id(instants.start_of(home(payment_id).minute), payment_id.rpartition("_")[2])
