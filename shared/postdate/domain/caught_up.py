"""What a worker who came late, and died over it, has caught up on before another one comes later still."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from postdate.domain.task import State, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class CaughtUp:
    """Its `leader` is the first run that was written ahead of its time: it answers for all after it, and so nobody else
    may. `running` are the instants of those that run, or ran, whatever the policy would say by now, `kept_back` those
    of others. It `passed` is the run that is late, if one goes, or went, in its place."""

    leader: Task | None
    running: frozenset[datetime]
    kept_back: frozenset[datetime]
    passed: bool

    @classmethod
    def of(cls, since: Iterable[Task], late: Task) -> Self:
        runs = [(each, each.recurs) for each in since if each.recurs and each.recurs.number]
        leaders = (each for each, _ in runs if answers(each))
        kept_back = {recurs.at for each, recurs in runs if each.state in (State.SKIPPED, State.MISSED)}
        return cls(
            leader=min(leaders, key=_planned_for, default=None),
            running=frozenset({recurs.at for _, recurs in runs} - kept_back),
            kept_back=frozenset(kept_back),
            passed=any(recurs.passed == late.id and each.token for each, recurs in runs),
        )


def answers(run: Task) -> bool:
    """For what is due after it: it was written ahead of its time, and not by somebody who had come late."""
    return run.created_at < run.planned_at


def _planned_for(run: Task) -> datetime:
    return run.planned_at
