"""Runs the calls of one batch, each at its instant.

Commits the claim, acts, commits the outcome. A worker that dies after the claim leaves a lease; when it is over, the
message is back and the next attempt has a newer token. One that dies after the outcome, before the retry's message
or the dead letter was sent, leaves its own message: delivered again, it finds the task waiting or dead and sends it.

One thread decides and commits; destinations work in threads of their own and report into an inbox. An item that is
due goes before an outcome that waits to be written.
"""

import queue
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from functions.run_tasks.deliveries import Deliveries
from functions.run_tasks.ledger import Ledger
from postdate.domain import transitions
from postdate.domain.due import PACKET_ITEMS_MAX, WAIT_MAX, Due
from postdate.domain.errors import Unavailable
from postdate.domain.task import State, Task
from postdate.domain.transitions import Buried, Deferred, Dropped, Failure, Transition
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Received
from postdate.stores.tasks import Tasks, Written
from postdate.targets.base import Delivered, Delivery, Receipt

_TRIES = 4
_PAUSE = timedelta(milliseconds=60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One item of one message, on its way through this batch."""

    due: Due
    message: Received


@dataclass(kw_only=True, slots=True)
class Report:
    """What a batch did, for its log lines and metrics, and the messages that have to come back."""

    claimed: int = 0
    succeeded: int = 0
    retried: int = 0
    dead: int = 0
    dropped: int = 0
    deferred: int = 0
    fenced_off: int = 0
    lateness_ms: list[float] = field(default_factory=list)
    failures: list[Task] = field(default_factory=list)
    failed_messages: set[str] = field(default_factory=set)


class Runner:
    """Made anew for each batch; everything it touches is given."""

    def __init__(
        self,
        *,
        tasks: Tasks,
        deliveries: Deliveries,
        ledger: Ledger,
        extend_messages: Callable[[Iterable[Received], timedelta], None],
        clock: Clock,
        lease: timedelta,
        holder: str,
        draw: Callable[[], float],
    ) -> None:
        self._tasks = tasks
        self._deliveries = deliveries
        self._ledger = ledger
        self._extend_messages = extend_messages
        self._clock = clock
        self._lease = lease
        self._holder = holder
        self._draw = draw
        self._inbox: queue.SimpleQueue[tuple[Delivery, Receipt]] = queue.SimpleQueue()
        self._known: dict[str, Task] = {}
        self._running: dict[str, tuple[Task, Call]] = {}
        self._claimed: set[str] = set()
        self._started: set[str] = set()
        self._report = Report()

    def run(self, messages: Sequence[Received]) -> Report:
        self._extend_messages(messages, self._lease + WAIT_MAX)
        renewal = self._clock.now() + self._lease / 2
        agenda = self._agenda(messages)
        while agenda or self._running:
            now = self._clock.now()
            if agenda and agenda[0].due.due_at <= now:
                self._claim(_take_due(agenda, now))
            elif renewal <= now:
                self._renew(messages)
                renewal = now + self._lease / 2
            else:
                self._wait(min([renewal, *(call.due.due_at for call in list(agenda)[:1])]))
        self._ledger.send()
        self._report.failed_messages |= self._ledger.failed_messages
        return self._report

    def _agenda(self, messages: Sequence[Received]) -> deque[Call]:
        """What to do in the order of its instants; what is further away than a worker may wait is sent again."""
        calls = [Call(due=due, message=message) for message in messages for due in message.packet.dues]
        try:
            self._known = self._tasks.get_many(call.due.id for call in calls)
        except Unavailable:
            self._fail(calls)
            return deque()
        soon = self._clock.now() + WAIT_MAX
        for call in calls:
            if call.due.due_at > soon:
                self._defer(call)
        near = (call for call in calls if call.due.due_at <= soon)
        with suppress(Unavailable):
            self._deliveries.prefetch(self._known.values())
        return deque(sorted(near, key=lambda call: call.due.due_at))

    def _wait(self, until: datetime) -> None:
        """Until the instant or the first outcome, whichever is sooner."""
        if not self._running:
            self._clock.sleep_until(until)
            return
        try:
            finished = [self._inbox.get(timeout=max(0.0, (until - self._clock.now()).total_seconds()))]
        except queue.Empty:
            return
        while len(finished) < PACKET_ITEMS_MAX and not self._inbox.empty():
            finished.append(self._inbox.get())
        self._finish(finished)

    def _claim(self, calls: list[Call]) -> None:
        for _ in range(_TRIES):
            now = self._clock.now()
            wanted = [(call, change) for call in calls if (change := self._decide(call, now))]
            self._claimed |= {change.after.id for _, change in wanted}
            written = self._tasks.commit([change for _, change in wanted])
            self._start([pair for pair, done in zip(wanted, written, strict=True) if done is Written.DONE])
            calls = [
                call for (call, _), done in zip(wanted, written, strict=True) if done is not Written.DONE
            ]
            if not calls:
                return
            if Written.UNAVAILABLE in written:
                self._pause()
            with suppress(Unavailable):
                self._known |= self._tasks.get_many(call.due.id for call in calls)
        self._fail(calls)

    def _decide(self, call: Call, now: datetime) -> Transition | None:
        task = self._known.get(call.due.id)
        if task is None:
            self._report.dropped += 1
            return None
        if task.holder == self._holder and task.id in self._claimed - self._started:
            # Our own claim, whose answer got lost: nobody else will run it.
            self._launch([(call, task)])
            return None
        verdict = transitions.claim(
            task,
            call.due,
            now=now,
            lease=self._lease,
            holder=self._holder,
            repeated=call.message.repeated,
            why=call.message.packet.via,
        )
        match verdict:
            case Transition():
                return verdict
            case Deferred():
                self._defer(Call(due=Due.of(task), message=call.message), not_before=verdict.not_before)
            case Buried():
                self._ledger.bury(task, call.message)
            case Dropped():
                self._report.dropped += 1
        return None

    def _start(self, claimed: list[tuple[Call, Transition]]) -> None:
        for call, change in claimed:
            if change.after.state is State.DEAD:
                self._record(call, change)
        self._launch(
            [(call, change.after) for call, change in claimed if change.after.state is State.RUNNING]
        )

    def _launch(self, claimed: list[tuple[Call, Task]]) -> None:
        for call, task in claimed:
            self._report.claimed += 1
            if task.attempts == 1 and task.lateness_ms is not None:
                self._report.lateness_ms.append(task.lateness_ms)
            self._started.add(task.id)
            self._known[task.id] = task
            self._running[task.id] = (task, call)
        self._deliveries.start(
            [task for _, task in claimed], lambda delivery, receipt: self._inbox.put((delivery, receipt))
        )

    def _finish(self, finished: list[tuple[Delivery, Receipt]]) -> None:
        now = self._clock.now()
        ended = [self._running.pop(delivery.task_id) for delivery, _ in finished]
        changes = [
            _outcome(task, receipt, now=now, draw=self._draw())
            for (task, _), (_, receipt) in zip(ended, finished, strict=True)
        ]
        pairs = list(zip(ended, changes, strict=True))
        for _ in range(_TRIES):
            written = self._tasks.commit([change for _, change in pairs])
            for ((_, call), change), done in zip(pairs, written, strict=True):
                if done is Written.DONE:
                    self._record(call, change)
                elif done is Written.CONFLICT:
                    self._report.fenced_off += 1
            self._ledger.send()
            pairs = [pair for pair, done in zip(pairs, written, strict=True) if done is Written.UNAVAILABLE]
            if not pairs:
                return
            self._pause()
        self._fail([call for (_, call), _ in pairs])

    def _record(self, call: Call, change: Transition) -> None:
        """A retry that points to a later minute is left to that minute's sweep."""
        task = self._known[change.after.id] = change.after
        match task.state:
            case State.SUCCEEDED:
                self._report.succeeded += 1
            case State.RETRYING:
                self._report.retried += 1
                self._report.failures.append(task)
                if not change.points:
                    self._ledger.retry(task, call.message)
            case _:
                self._report.dead += 1
                self._report.failures.append(task)
                self._ledger.bury(task, call.message)

    def _renew(self, messages: Sequence[Received]) -> None:
        """Long work keeps what it holds: the messages, and the lease of each task that is still running."""
        until = self._clock.now() + self._lease
        self._extend_messages(messages, self._lease + WAIT_MAX)
        for task, _ in list(self._running.values()):
            with suppress(Unavailable):
                self._tasks.extend(task, until)

    def _defer(self, call: Call, *, not_before: datetime | None = None) -> None:
        self._report.deferred += 1
        self._ledger.defer(call.due, call.message, not_before=not_before)

    def _fail(self, calls: Iterable[Call]) -> None:
        self._report.failed_messages |= {call.message.message_id for call in calls}

    def _pause(self) -> None:
        self._clock.sleep_until(self._clock.now() + _PAUSE * (0.5 + self._draw()))


def _take_due(agenda: deque[Call], now: datetime) -> list[Call]:
    """The next calls that are due, at most a packet's worth and each task once."""
    taken: dict[str, Call] = {}
    while agenda and agenda[0].due.due_at <= now and len(taken) < PACKET_ITEMS_MAX:
        if agenda[0].due.id in taken:
            break
        call = agenda.popleft()
        taken[call.due.id] = call
    return list(taken.values())


def _outcome(task: Task, receipt: Receipt, *, now: datetime, draw: float) -> Transition:
    if isinstance(receipt, Delivered):
        why = "delivered" if receipt.http_status is None else f"http {receipt.http_status}"
        return transitions.succeed(task, now=now, why=why)
    failure = Failure(
        why=receipt.reason, final=not receipt.retry, retry_after_seconds=receipt.retry_after_seconds
    )
    return transitions.fail(task, now=now, failure=failure, draw=draw)
