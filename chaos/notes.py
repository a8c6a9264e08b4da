"""The answers that clients received, and their open requests: the facts that all promises are checked against."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True, slots=True)
class Promised:
    """A task or a payment that was accepted. `earliest_ms` is the instant before which it may not begin: where a
    change was neither granted nor refused, the earlier one of two. `version` and `status` are the newest that were
    told."""

    key: str
    path: str
    form: dict[str, Any]
    id: str
    earliest_ms: int
    version: int
    status: str
    cancelled: bool = False

    @property
    def is_payment(self) -> bool:
        return self.id.startswith("pay_")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurring:
    """A recurring task and the instants that its cron names, in milliseconds."""

    id: str
    planned_ms: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """A registration or a deposit to which there was no answer, however often it was asked for."""

    key: str
    path: str
    form: dict[str, Any]


@dataclass(kw_only=True, slots=True)
class Notes:
    """Notes of one client, written by that client alone. `unknown` counts requests without an answer or with an
    error of the server; `refused` counts the codes of refusals."""

    promised: list[Promised] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    deposited: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    granted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)


def together(all_notes: Iterable[Notes]) -> Notes:
    whole = Notes()
    for notes in all_notes:
        whole.promised += notes.promised
        whole.wanted += notes.wanted
        whole.deposited += notes.deposited
        for name in ("asked", "granted", "refused", "unknown"):
            getattr(whole, name).update(getattr(notes, name))
    return whole
