"""A movement: one row of the journal. It is written together with the balances it changes, and never changed."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from postdate.domain import base32, instants
from postdate.domain.slots import home

KIND = "txn"
PLACE_DIGITS = 13
_TIME_CHARACTERS = 9


class Type(StrEnum):
    PAYMENT = "PAYMENT"
    DEPOSIT = "DEPOSIT"
    REFUND = "REFUND"
    ADJUSTMENT = "ADJUSTMENT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Movement:
    """`amount` leaves the payer and reaches the payee; None stands for the world outside. `reference`, `description`
    and `metadata` are a deposit's, from whoever makes it. `place` is where it stands in the journals of its accounts,
    in the order in which they were written; the ledger sets it."""

    id: str
    tenant: str
    type: Type
    payer: str | None
    payee: str | None
    amount: int
    at: datetime
    payment_id: str | None = None
    reason: str | None = None
    reference: str | None = None
    description: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
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
    """Without an id, the first place of that instant."""
    return f"{milliseconds:0{PLACE_DIGITS}d}{id}"


def behind(place: str) -> int:
    """The first millisecond whose places all stand behind this one."""
    return int(place[:PLACE_DIGITS]) + 1


def movement_id(at: datetime, unique: str) -> str:
    """Sorted by the instant."""
    return f"{KIND}_{base32.encode(instants.milliseconds(at), _TIME_CHARACTERS)}{unique}"


def payment_movement_id(payment_id: str) -> str:
    """A payment has one movement, whatever its plan was when it settled: a second one meets the first. A payment that
    a restored table shows under an older plan cannot move its amount again. Movements of one minute are in no order.
    """
    return movement_id(instants.start_of(home(payment_id).minute), payment_id.rpartition("_")[2])
