"""Sums of the reconciliation: the books of each account, counted once from its rows and once from its history."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from postdate.domain.movement import Type, payment_movement_id
from postdate.domain.payment import Funding, State

_MARK_BYTES: Final = 8
# Marks are added modulo this number, so that a sum keeps its size.
_MARKS: Final = 1 << 8 * _MARK_BYTES
_IS_FINAL: Final = {state.value: state.is_final for state in State}


@dataclass(kw_only=True, slots=True)
class Sums:
    """The sums of three tables for one account. The marks are sums of one number for each completed payment, and for
    each movement of a payment: they are equal if both name the same payments, amounts and accounts."""

    # True if the account has a row.
    is_there: bool = False
    # The account's available money.
    available: int = 0
    # The account's reserved money.
    reserved: int = 0
    # The sum of the account's movements.
    moved: int = 0
    # The sum that its open payments reserve.
    held: int = 0
    # The mark of its completed payments, as payer.
    completed: int = 0
    # The mark of its movements for payments, as payer.
    paid: int = 0
    # The number of movements that contradict themselves.
    unsound: int = 0

    def add(self, other: "Sums") -> None:
        self.is_there = self.is_there or other.is_there
        self.available += other.available
        self.reserved += other.reserved
        self.moved += other.moved
        self.held += other.held
        self.completed = (self.completed + other.completed) % _MARKS
        self.paid = (self.paid + other.paid) % _MARKS
        self.unsound += other.unsound

    @property
    def disagree(self) -> bool:
        """True if the sums contradict each other, or if there are rows about an account that does not exist."""
        if not self.is_there:
            return bool(self.moved or self.held or self.completed or self.paid or self.unsound)
        return (
            self.available < 0
            or self.reserved < 0
            or self.available + self.reserved != self.moved
            or self.reserved != self.held
            or self.completed != self.paid
            or self.unsound > 0
        )

    def numbers(self) -> list[int]:
        """The fields as a list, for working papers in JSON. `of` reads the list."""
        return [
            *(int(self.is_there), self.available, self.reserved, self.moved, self.held),
            *(self.completed, self.paid, self.unsound),
        ]

    @classmethod
    def of(cls, numbers: Iterable[int]) -> "Sums":
        there, available, reserved, moved, held, completed, paid, unsound = numbers
        return cls(
            is_there=bool(there),
            available=available,
            reserved=reserved,
            moved=moved,
            held=held,
            completed=completed,
            paid=paid,
            unsound=unsound,
        )


class Accounts(dict[str, Sums]):
    """Sums by `<tenant>#<account>`."""

    def of(self, tenant: str, account: str) -> Sums:
        name = f"{tenant}#{account}"
        sums = self.get(name)
        if sums is None:
            sums = self[name] = Sums()
        return sums

    def add_account(self, tenant: str, account: str, *, available: int, reserved: int) -> None:
        sums = self.of(tenant, account)
        sums.is_there = True
        sums.available += available
        sums.reserved += reserved

    def add_payment(
        self,
        id: str,
        *,
        tenant: str,
        payer: str,
        payee: str,
        amount: int,
        funding: str | None,
        state: str,
        archived: Callable[[str], bool],
    ) -> None:
        """Payments that are `archived`, old enough for the archive when the run began, are not compared with their
        movements, which stay."""
        sums = self.of(tenant, payer)
        if not _IS_FINAL[state] and funding != Funding.AT_EXECUTION:
            sums.held += amount
        if state == State.COMPLETED and not archived(id):
            sums.completed = (sums.completed + _mark(id, amount, payer, payee)) % _MARKS

    def add_movement(
        self,
        id: str,
        *,
        tenant: str,
        type: str,
        payer: str | None,
        payee: str | None,
        amount: int,
        payment: str | None,
        archived: Callable[[str], bool],
    ) -> None:
        """`archived` tells payments, as for a payment."""
        # Money from outside belongs to the account that it reaches; all other money to the payer's.
        if payer is None:
            owner = self.of(tenant, payee or "")
            owner.moved += amount
        else:
            owner = self.of(tenant, payer)
            owner.moved -= amount
            if payee is not None:
                self.of(tenant, payee).moved += amount
        # Only the movement of a payment names one.
        if type != Type.PAYMENT:
            owner.unsound += payment is not None
        # Another id would not keep the payment from moving its amount twice.
        elif payment is None or id != payment_movement_id(payment):
            owner.unsound += 1
        elif not archived(payment):
            owner.paid = (owner.paid + _mark(payment, amount, payer, payee)) % _MARKS

    def merge(self, other: Mapping[str, Iterable[int]]) -> None:
        for name, numbers in other.items():
            known = self.get(name)
            if known is None:
                self[name] = Sums.of(numbers)
            else:
                known.add(Sums.of(numbers))

    def in_parts(self, parts: int) -> list[dict[str, list[int]]]:
        """Makes a table of numbers for each part, empty parts included. An account is always in the same part."""
        divided: list[dict[str, list[int]]] = [{} for _ in range(parts)]
        for name, sums in self.items():
            divided[part_of(name, parts)][name] = sums.numbers()
        return divided

    def suspects(self, *, after: str) -> Iterator[tuple[str, Sums]]:
        """Accounts whose sums disagree, in the order of their names, behind `after`."""
        for name in sorted(self):
            if name > after and self[name].disagree:
                yield name, self[name]


def part_of(name: str, parts: int) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest()) % parts


def _mark(payment: str, amount: int, payer: str | None, payee: str | None) -> int:
    named = f"{payment} {amount} {payer} {payee}"
    return int.from_bytes(hashlib.blake2b(named.encode(), digest_size=_MARK_BYTES).digest())
