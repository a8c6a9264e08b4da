"""The counts of a batch for its log lines and metrics, and the messages that have to come back."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

from postdate.domain.task import State, Task
from postdate.runtime import metric
from postdate.runtime.observability import emit, emit_all, emit_of_tier, logger

# The lateness beyond which a first attempt counts as late.
_LATE_MS: Final = 30_000
# Ids in one log line.
_TOLD_MAX: Final = 100
_KEPT_BACK: Final = {
    State.PENDING: metric.RUNS_QUEUED,
    State.SKIPPED: metric.RUNS_SKIPPED,
    State.MISSED: metric.RUNS_MISSED,
    State.CANCELLED: metric.RUNS_VOID,
}


@dataclass(kw_only=True, slots=True)
class TaskTally:
    """The counts of one batch. The handler emits them as metrics and log lines when the batch has ended."""

    # Messages of the event, and those that the worker took later.
    packets: int = 0
    # Messages that a worker had received before.
    redelivered: int = 0
    # Attempts that began.
    claimed: int = 0
    # Tasks that succeeded.
    succeeded: int = 0
    # Deliveries whose receiver will report the outcome later.
    accepted: int = 0
    # Tasks that wait for another attempt.
    retried: int = 0
    # Tasks that used up their attempts.
    dead: int = 0
    # Tasks whose deadline passed.
    expired: int = 0
    # Calls without effect.
    dropped: int = 0
    # Calls that were sent again.
    deferred: int = 0
    # Claims that were given a later instant.
    postponed: int = 0
    # Calls that were moved to the lane for slow destinations.
    moved: int = 0
    # Calls that were sent again because a switch stops their tasks.
    stopped: int = 0
    # Outcomes that a newer claim had overtaken.
    fenced_off: int = 0
    # Claims that took a task from a worker whose lease was over.
    leases_expired: int = 0
    # Runs that did not begin at their instant, by their state after it.
    kept_back: Counter[State] = field(default_factory=Counter)
    # Failed attempts, by the names of `metric.ATTEMPTS_FAILED`.
    failure_classes: Counter[str] = field(default_factory=Counter)
    # Outcomes of retries, by the arm of the experiment and the outcome.
    arms: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Tasks that succeeded or died, by the tier of their tenant.
    tier_ended: Counter[str] = field(default_factory=Counter)
    # The lateness of first attempts, by the tier of their tenant.
    tier_lateness_ms: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    # The time from the claim to the receipt, of each attempt.
    execution_ms: list[float] = field(default_factory=list)
    # The lateness of each first attempt.
    lateness_ms: list[float] = field(default_factory=list)
    # Tasks whose attempt failed.
    failures: list[Task] = field(default_factory=list)
    # The ids of tasks that succeeded.
    done: list[str] = field(default_factory=list)
    # The ids of messages that SQS delivers again.
    failed_messages: set[str] = field(default_factory=set)

    def tell(self) -> None:
        values = {
            metric.PACKETS: self.packets,
            metric.REDELIVERIES: self.redelivered,
            metric.LEASES_EXPIRED: self.leases_expired,
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
            metric.CALLS_STOPPED: self.stopped,
            metric.FENCED_OFF: self.fenced_off,
            metric.MESSAGES_FAILED: len(self.failed_messages),
        }
        values |= {each: self.kept_back[state] for state, each in _KEPT_BACK.items()}
        values |= {metric.RETRY_ARMS[each]: count for each, count in self.arms.items()}
        emit_all(
            values | {metric.ATTEMPTS_FAILED[name]: count for name, count in self.failure_classes.items()}
        )
        # Successes share a line: one line each would cost more than the work.
        for start in range(0, len(self.done), _TOLD_MAX):
            some = self.done[start : start + _TOLD_MAX]
            logger.info("tasks succeeded", extra={"action": "tasks_executed", "tasks": some})
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
        for execution in self.execution_ms:
            emit(metric.TASK_EXECUTION, execution)
        for tier in sorted(self.tier_ended.keys() | self.tier_lateness_ms.keys()):
            ended = self.tier_ended[tier]
            emit_of_tier(
                tier,
                {
                    metric.TIER_ENDED: [ended] if ended else [],
                    metric.TIER_LATENESS: self.tier_lateness_ms[tier],
                },
            )
