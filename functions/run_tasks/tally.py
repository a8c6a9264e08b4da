"""What a batch did, for its log lines and metrics, and the messages that have to come back."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from postdate.domain.task import State, Task
from postdate.runtime.observability import count, logger, milliseconds

_KEPT_BACK: Final = {
    State.PENDING: "RunsQueued",
    State.SKIPPED: "RunsSkipped",
    State.MISSED: "RunsMissed",
    State.CANCELLED: "RunsVoid",
}


@dataclass(kw_only=True, slots=True)
class Tally:
    """`kept_back` are runs that did not begin at their instant, by what became of them instead."""

    packets: int = 0
    claimed: int = 0
    succeeded: int = 0
    accepted: int = 0
    retried: int = 0
    dead: int = 0
    expired: int = 0
    dropped: int = 0
    deferred: int = 0
    postponed: int = 0
    moved: int = 0
    fenced_off: int = 0
    kept_back: Counter[State] = field(default_factory=Counter)
    lateness_ms: list[float] = field(default_factory=list)
    failures: list[Task] = field(default_factory=list)
    failed_messages: set[str] = field(default_factory=set)

    def tell(self) -> None:
        counts = {
            "TasksClaimed": self.claimed,
            "TasksSucceeded": self.succeeded,
            "TasksAccepted": self.accepted,
            "TasksRetried": self.retried,
            "TasksDead": self.dead,
            "TasksExpired": self.expired,
            "CallsDropped": self.dropped,
            "CallsDeferred": self.deferred,
            "CallsPostponed": self.postponed,
            "CallsMoved": self.moved,
            "OutcomesFencedOff": self.fenced_off,
            "MessagesFailed": len(self.failed_messages),
        } | {name: self.kept_back[state] for state, name in _KEPT_BACK.items()}
        count("Packets", self.packets)
        for name, value in counts.items():
            if value:
                count(name, value)
        for task in self.failures:
            logger.info(
                "an attempt failed",
                extra={
                    "action": "retry" if task.state.waits else task.state.lower(),
                    "task": task.id,
                    "attempt": task.attempts,
                    "reason": task.history[-1].why,
                },
            )
        for lateness in self.lateness_ms:
            milliseconds("TaskLateness", lateness)
