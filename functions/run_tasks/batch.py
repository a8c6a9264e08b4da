"""The calls of one batch: when each is looked at, what is known of its task, and what becomes of it if it begins no
attempt."""

from bisect import insort
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from functions.run_tasks.tally import TaskTally
from postdate.domain.due import Due
from postdate.domain.parameters import DEFAULTS, Parameters
from postdate.domain.retry import put_off_seconds
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.domain.verdicts import Buried, Deferred, Dropped
from postdate.runtime.agenda import Call, in_turn
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.runtime.outbox import Outbox
from postdate.stores.tasks import Tasks, Written

SOON: Final = timedelta(seconds=2)

# A change of a task, and the call that led to it.
Change = tuple[Call, Transition]


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """The services that all parts of one worker share."""

    clock: Clock
    # The name of the worker in histories.
    holder: str
    # The time for which a claim belongs to this worker.
    lease: timedelta
    # The minutes that the sweep has opened: a writer sends their calls itself.
    horizon: Horizon
    # Tells the seconds in which the worker may still begin something.
    seconds_left: Callable[[], float]
    # Draws a number from 0 to 1.
    draw: Callable[[], float]
    # The parameters of this batch, which do not change while the batch runs.
    parameters: Parameters = DEFAULTS


class Batch:
    def __init__(self, worker: Worker, outbox: Outbox, tasks: Tasks) -> None:
        self._worker = worker
        self._tasks = tasks
        self.outbox = outbox
        self.known: dict[str, Task] = {}
        self.agenda: deque[Call] = deque()
        self.tally = TaskTally()
        # The ids of tasks whose decisions are logged.
        self.traced: set[str] = set()

    @property
    def failed_messages(self) -> Collection[str]:
        return self.tally.failed_messages | self.outbox.failed_messages

    def commit(self, changes: Sequence[Change]) -> dict[Written, list[Change]]:
        """Writes these changes, and returns them by the answer of the table. The messages of refused changes come back,
        because a person has to look at these."""
        found: dict[Written, list[Change]] = {each: [] for each in Written}
        written = self._tasks.commit([change for _, change in changes])
        for pair, answer in zip(changes, written, strict=True):
            found[answer].append(pair)
        self.fail(call for call, _ in found[Written.REFUSED])
        return found

    def plan(self, calls: Iterable[Call]) -> None:
        self.agenda = deque(in_turn([*self.agenda, *calls]))

    def put_off(self, call: Call, until: datetime) -> None:
        insort(self.agenda, replace(call, at=until), key=lambda call: call.at)

    def forget(self, calls: Sequence[Call]) -> None:
        """Forgets all tasks but those of these calls."""
        ids = {call.due.id for call in calls}
        self.known = {id: task for id, task in self.known.items() if id in ids}
        self.traced &= ids

    def trace(self, task: Task, action: str, why: str) -> None:
        """Logs a decision about a task that is traced."""
        if task.id in self.traced:
            logger.info(
                "a decision about a traced task",
                extra={
                    "action": action,
                    "task": task.id,
                    "tenant": task.tenant,
                    "version": task.version,
                    "attempt": task.attempts,
                    "reason": why,
                },
            )

    def answer(self, call: Call, task: Task, verdict: Deferred | Buried | Dropped) -> None:
        why = "left to a person" if isinstance(verdict, Buried) else verdict.why
        self.trace(task, type(verdict).__name__.lower(), why)
        match verdict:
            case Deferred():
                self.defer(call, task, not_before=verdict.not_before)
            case Buried():
                self.outbox.bury(task, call.message)
            case Dropped():
                self.tally.dropped += 1

    def defer(self, call: Call, task: Task, *, not_before: datetime | None) -> None:
        self.tally.deferred += 1
        self.outbox.defer(Due.of(task), call.message, not_before=not_before)

    def defer_soon(self, calls: Iterable[tuple[Call, Task]]) -> None:
        soon = self._worker.clock.now() + SOON
        for call, task in calls:
            self.defer(call, task, not_before=soon)

    def back_off(self, changes: Sequence[Change]) -> None:
        """Sends calls again whose claims were throttled, after a pause that grows with their lateness. The pause is
        that of the least late call, so that all calls of a tenant stay in one packet."""
        now = self._worker.clock.now()
        late = min((now - call.due.due_at for call, _ in changes), default=timedelta(0))
        pause = put_off_seconds(late.total_seconds(), self._worker.draw())
        for call, change in changes:
            self.defer(call, change.before, not_before=now + timedelta(seconds=pause))

    def send_on(self, calls: Iterable[Call]) -> None:
        # Spread over some seconds, so that the calls do not come back together.
        soon = self._worker.clock.now() + (1 + self._worker.draw()) * SOON
        for call in calls:
            self.tally.deferred += 1
            self.outbox.send_on(call.due, call.message, not_before=soon)
        self.outbox.send()

    def stop(self, call: Call, until: datetime) -> None:
        self.tally.stopped += 1
        self.outbox.send_on(call.due, call.message, not_before=until)

    def send_to_slow_lane(self, calls: Iterable[Call]) -> None:
        """Sends calls to the queue for slow destinations, where other workers take them."""
        for call in calls:
            self.tally.moved += 1
            self.outbox.move(call.due, call.message)
        self.outbox.send()

    def fail(self, calls: Iterable[Call]) -> None:
        self.tally.failed_messages |= {call.message.message_id for call in calls}
