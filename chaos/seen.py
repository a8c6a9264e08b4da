"""All that can be seen when everything is quiet again; the checks look at nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from chaos.notes import Notes, Promised, Recurring
from postdate.domain.account import Account
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment
from postdate.domain.task import Task


class Arrival(NamedTuple):
    """One attempt as a destination saw it. `planned_at` is what it was told, `at_ms` when it came."""

    task: str
    run: str
    key: str
    token: int
    attempt: int
    planned_at: str
    at_ms: float


class Letter(NamedTuple):
    id: str
    version: int


class Replay(NamedTuple):
    """Answers to repeated requests: with the same key, and some with another body."""

    promised: Promised
    status: int
    id: str | None
    other_body: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """`tasks` has runs too. `words` are the runs that their receiver ended with success, by id, and under which token.
    `queued` is what is still in each queue."""

    notes: Notes
    recurring: Sequence[Recurring]
    tasks: Mapping[str, Task]
    payments: Mapping[str, Payment]
    accounts: Mapping[str, Account]
    movements: Sequence[Movement]
    arrivals: Sequence[Arrival]
    words: Mapping[str, int]
    letters: Sequence[Letter]
    queued: Mapping[str, int]
    replays: Sequence[Replay]
    audit: Mapping[str, Any]
