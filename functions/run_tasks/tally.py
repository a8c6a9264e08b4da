"""What a batch did, for its log lines and metrics, and the messages that have to come back."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from postdate.domain.task import State, Task
from postdate.runtime import metric
from postdate.runtime.observability import emit, emit_all, logger

_LATE_MS: Final = 30_000
_KEPT_BACK: Final = {
    State.PENDING: metric.RUNS_QUEUED,
    State.SKIPPED: metric.RUNS_SKIPPED,
    State.MISSED: metric.RUNS_MISSED,
    State.CANCELLED: metric.RUNS_VOID,
}


@dataclass(kw_only=True, slots=True)
class Tally:
    """`kept_back` are runs that did not begin at their instant, by what became of them instead."""

    packets: int = 0
    redelivered: int = 0
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
        values = {
            metric.PACKETS: self.packets,
            metric.REDELIVERIES: self.redelivered,
            metric.TASKS_CLAIMED: self.claimed,
            metric.TASKS_SUCCEEDED: self.succeeded,
            metric.TASKS_ACCEPTED: self.accepted,
            metric.TASKS_RETRIED: self.retried,
            metric.TASKS_DEAD: self.dead,
            metric.TASKS_EXPIRED: self.expired,
            metric.TASKS_LATE: sum(lateness > _LATE_MS for lateness in self.lateness_ms),
            metric.CALLS_DROPPED: self.dropped,
            metric.CALLS_DEFERRED: self.deferred,
            metric.CALLS_POSTPONED: self.postponed,
            metric.CALLS_MOVED: self.moved,
            metric.FENCED_OFF: self.fenced_off,
            metric.MESSAGES_FAILED: len(self.failed_messages),
        }
        emit_all(values | {each: self.kept_back[state] for state, each in _KEPT_BACK.items()})
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
            emit(metric.TASK_LATENESS, lateness)
