"""Reconciliation: sums of an account over three tables, the accounts whose sums disagree, and findings.

Sums are read while money moves, so a disagreement is a suspicion only. The look at the whole account decides.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from postdate.domain.movement import Type, payment_movement_id
from postdate.domain.payment import Funding, State
from postdate.domain.retention import may_be_archived

# Checks that only a reconciliation makes. The names of the others are those of postdate.domain.invariants.
ACCOUNT_EXISTS: Final = "account_exists"
NEXT_RUN_EXISTS: Final = "next_run_exists"
DEAD_HAS_LETTER: Final = "dead_task_has_letter"
LETTER_HAS_ITEM: Final = "letter_has_item"
EVENTS_COMPLETE: Final = "events_complete"
EVENTS_ARCHIVED: Final = "events_archived"
# An account's findings are repaired by one movement, so they make one proposal.
SET_TO_JOURNAL: Final = "set_to_journal"
BEGIN_CHAIN: Final = "begin_chain"
# A run begins an hour before the reconciliation.
_ARCHIVED_WITHIN: Final = timedelta(hours=26)
_MARK_BYTES: Final = 8
_MARKS: Final = 1 << 8 * _MARK_BYTES


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A contradiction that a look at the rows themselves confirmed. `subject` is the id of an account or an item, and
    `repair` names the repair that a person may approve; empty if there is none."""

    # The name of the check.
    check: str
    # The owner of the subject; empty for a finding about the service.
    tenant: str
    # The id of an account or an item.
    subject: str
    # The value that was found.
    observed: Any
    # The value that the other rows demand.
    expected: Any
    # The repair that a person may approve; empty if there is none.
    repair: str = ""

    def values(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveRun:
    """The end of the newest run of the archive over all feeds."""

    finished_at: datetime
    # Tenants whose feeds could not be archived.
    failed: tuple[str, ...]


def late_archive(newest: ArchiveRun | None, *, now: datetime) -> list[Finding]:
    """Makes a finding for each feed that failed, and one if no run ended since the night before."""
    at = None if newest is None else newest.finished_at
    stands = at is None or now - at > _ARCHIVED_WITHIN
    late = [
        Finding(
            check=EVENTS_ARCHIVED,
            tenant="",
            subject="archive",
            observed=None if at is None else at.isoformat(),
            expected=f"a run of the archive within {_ARCHIVED_WITHIN // timedelta(hours=1)} hours",
        )
    ]
    failed = () if newest is None else newest.failed
    return (late if stands else []) + [
        Finding(
            check=EVENTS_ARCHIVED, tenant="", subject=each, observed="failed", expected="an archived feed"
        )
        for each in failed
    ]


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
        return self.setdefault(f"{tenant}#{account}", Sums())

    def add_account(self, tenant: str, account: str, *, available: int, reserved: int) -> None:
        self.of(tenant, account).add(Sums(is_there=True, available=available, reserved=reserved))

    def add_payment(self, values: Mapping[str, Any], *, at: datetime) -> None:
        """`values` are a payment's id, tenant, payer, payee, amount, funding and state. `at` is the instant of the run:
        payments that are old enough for the archive then are not compared with their movements, which stay."""
        sums = self.of(values["tenant"], values["payer"])
        state = State(values["state"])
        if not state.is_final and values["funding"] != Funding.AT_EXECUTION:
            sums.held += values["amount"]
        if state is State.COMPLETED and not may_be_archived(values["id"], at):
            sums.completed = (sums.completed + _mark(values["id"], values)) % _MARKS

    def add_movement(self, values: Mapping[str, Any], *, at: datetime) -> None:
        """`values` are a movement's id, tenant, type, payer, payee, amount and payment; `at` as for a payment."""
        payer, payee, amount = values["payer"], values["payee"], values["amount"]
        sides = [(payer, -amount), (payee, amount)]
        for account, effect in sides:
            if account is not None:
                self.of(values["tenant"], account).moved += effect
        owner = self.of(values["tenant"], payer or payee)
        payment = values["payment"]
        if values["type"] != Type.PAYMENT:
            owner.unsound += payment is not None
        elif payment is None or values["id"] != payment_movement_id(payment):
            owner.unsound += 1
        elif not may_be_archived(payment, at):
            owner.paid = (owner.paid + _mark(payment, values)) % _MARKS

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


def _mark(payment: str, values: Mapping[str, Any]) -> int:
    named = f"{payment} {values['amount']} {values['payer']} {values['payee']}"
    return int.from_bytes(hashlib.blake2b(named.encode(), digest_size=_MARK_BYTES).digest())


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A repair of one account or one recurring task, which is made only when a person has approved it."""

    # The owner of the subject.
    tenant: str
    # The account's or the task's id.
    subject: str
    # SET_TO_JOURNAL or BEGIN_CHAIN.
    repair: str
    # The key that approved it; empty before.
    approved_by: str = ""
    # The instant of the approval; None before.
    approved_at: datetime | None = None
    # The reason that the person gave; empty before.
    reason: str = ""
    # The answer of the repair, once it was tried: `done`, or why it was refused.
    outcome: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reconciliation:
    """The end of one run, as the API tells it. The report names all findings, this the first hundred."""

    # Begins with the instant at which the run began.
    id: str
    # The instant at which the machine began.
    started_at: datetime
    # The instant of the report.
    finished_at: datetime
    # The number of findings by check; empty if nothing is wrong.
    by_check: Mapping[str, int]
    # The number of rows, accounts, plans and letters that were looked at.
    looked_at: Mapping[str, int]
    # Accounts that never stood still.
    unjudged: int
    # Missing events that were made from histories.
    events_filled: int
    # The name of the report in the bucket.
    report: str
    # The values of `Finding`.
    findings: tuple[Mapping[str, Any], ...] = ()
    # The repairs that a person may approve.
    proposals: tuple[Proposal, ...] = ()
    # 1 when reported, one more with each approval. Conditional writes compare the version.
    version: int = 1

    @property
    def ok(self) -> bool:
        return not self.by_check


def run_id(started_at: datetime, name: str) -> str:
    """The id of the run that an execution of the machine makes: a step that is repeated finds it again."""
    return f"rec_{started_at.astimezone(UTC):%Y%m%dT%H%M%SZ}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
