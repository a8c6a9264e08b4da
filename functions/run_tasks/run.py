"""Runs the calls of one batch, each at its instant.

Commits the claim, acts, commits the outcome. A worker that dies after the claim leaves a lease; when it is over, the
message is back and the next attempt has a newer token. One that dies after the outcome, before the retry's message
or the dead letter was sent, leaves its own message: delivered again, it finds the task waiting or dead and sends it.
A worker who is fenced off sends his call on: who was faster may have had it from the same message, and died.

A run of a recurring task is claimed only when its task still stands, and what follows it is written and called (see
`chain`). A worker that dies before that leaves the run as it was, and its message; the next one does the same again.

A delivery that the receiver has yet to acknowledge leaves the task RUNNING under the receiver's lease, and a call for
the end of that lease. A worker that dies between the two leaves its own message, which then waits for the same.

A claim that is decided passes the gate before it is written (see `gate`): it may have to wait for its turn.

One thread decides and commits; destinations work in threads of their own and report into an inbox. An item that is
due goes before an outcome that waits to be written, and nothing waits for a slow neighbour.

A worker that deliveries keep from ending takes further messages itself (see `intake`), and no tenant's deliveries use
up what it can have in flight (see `in_flight`).
"""

import queue
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from functions.run_tasks.chain import Chain, Ends, asks
from functions.run_tasks.circuits import circuit
from functions.run_tasks.deliveries import Deliveries
from functions.run_tasks.gate import Elsewhere, Gate, Held
from functions.run_tasks.in_flight import InFlight
from functions.run_tasks.intake import Intake
from functions.run_tasks.stalled import Stalled
from functions.run_tasks.tally import Tally
from postdate.domain import transitions
from postdate.domain.due import PACKET_ITEMS_MAX, Due, Via
from postdate.domain.errors import Unavailable
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Ack, State, Task
from postdate.domain.transitions import Buried, Deferred, Dropped, Failure, Transition
from postdate.runtime.agenda import Call, calls_of, in_turn, take_due
from postdate.runtime.clock import Clock
from postdate.runtime.outbox import Outbox
from postdate.runtime.queue import Received
from postdate.stores.tasks import Tasks, Written
from postdate.targets.base import Delivered, Delivery, Receipt, Untried

_CLAIM_TRIES = 4
_PAUSE = timedelta(milliseconds=50)
_PAUSE_MAX = timedelta(seconds=2)
_UNTRIED_PAUSE = timedelta(seconds=5)
_FAILED = frozenset({State.RETRYING, State.DEAD, State.EXPIRED})


_News = tuple[Delivery, Receipt] | list[Received]


class Runner:
    """Made anew for each batch; everything it touches is given. `seconds_left` is this worker's time to live."""

    def __init__(
        self,
        *,
        tasks: Tasks,
        chain: Chain,
        gate: Gate,
        deliveries: Deliveries,
        outbox: Outbox,
        intake: Intake,
        in_flight: InFlight,
        clock: Clock,
        lease: timedelta,
        horizon: Horizon,
        holder: str,
        seconds_left: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self._tasks = tasks
        self._chain = chain
        self._gate = gate
        self._deliveries = deliveries
        self._outbox = outbox
        self._intake = intake
        self._in_flight = in_flight
        self._clock = clock
        self._lease = lease
        self._horizon = horizon
        self._holder = holder
        self._seconds_left = seconds_left
        self._draw = draw
        self._inbox: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._known: dict[str, Task] = {}
        self._agenda: deque[Call] = deque()
        self._running: dict[tuple[str, int], tuple[Task, Call]] = {}
        self._ends: dict[str, Ends] = {}
        self._stalled = Stalled(in_flight)
        self._unwritten: list[tuple[Call, Transition]] = []
        self._write_at = self._renew_at = clock.now()
        self._pause = _PAUSE
        self._tally = Tally()

    def run(self, messages: Sequence[Received]) -> Tally:
        self._intake.renew()
        self._renew_at = self._clock.now() + self._lease / 2
        self._agenda.extend(self._calls(messages))
        while self._agenda or self._running or self._stalled.calls or self._intake.asks:
            self._go_on(self._clock.now())
        self._outbox.send()
        self._tally.failed_messages |= self._outbox.failed_messages
        self._intake.let_go((), self._tally.failed_messages, at_once=True)
        self._tally.packets = len(messages) + self._intake.taken
        return self._tally

    def _go_on(self, now: datetime) -> None:
        """The most urgent thing there is to do, or a wait for one."""
        asks_at = self._intake.asks_at(len(self._agenda))
        if self._agenda and self._agenda[0].at <= now:
            self._begin(take_due(self._agenda, now, most=PACKET_ITEMS_MAX))
        elif self._unwritten and self._write_at <= now:
            self._write_outcomes()
        elif self._renew_at <= now:
            self._renew()
        elif (patience_ends := self._stalled.patience_ends) is not None and patience_ends <= now:
            self._send_on(self._stalled.out_of_patience(now))
        elif not self._inbox.empty():
            self._wait(now)
        elif (looks_at := self._in_flight.looks_at) is not None and looks_at <= now:
            self._gate.slowed(self._in_flight.slow(now))
        elif asks_at is not None and asks_at <= now:
            self._let_go()
            self._intake.ask(self._inbox.put)
        else:
            instants = [self._renew_at, *(call.at for call in list(self._agenda)[:1])]
            instants += [self._write_at] if self._unwritten else []
            instants += [at for at in (patience_ends, asks_at, looks_at) if at is not None]
            self._wait(min(instants))

    def _calls(self, messages: Sequence[Received]) -> list[Call]:
        """What to look at, in the order of its instants."""
        self._tally.redelivered += sum(message.receives > 1 for message in messages)
        calls = calls_of(messages, self._clock.now())
        try:
            known = self._tasks.get_many(call.due.id for call in calls)
        except Unavailable:
            self._fail(calls)
            return []
        self._known |= known
        self._deliveries.prefetch(known.values())
        self._gate.foresee(known.values())
        self._chain.foresee(known.values())
        elsewhere = self._gate.elsewhere(known.values())
        self._move([call for call in calls if call.due.id in elsewhere])
        return in_turn(call for call in calls if call.due.id not in elsewhere)

    def _wait(self, until: datetime) -> None:
        """Until the instant or the first news, whichever is sooner."""
        if not self._in_flight.count and not self._intake.asks:
            self._clock.sleep_until(until)
            return
        try:
            news = [self._inbox.get(timeout=max(0.0, (until - self._clock.now()).total_seconds()))]
        except queue.Empty:
            return
        while len(news) < PACKET_ITEMS_MAX and not self._inbox.empty():
            news.append(self._inbox.get())
        finished = [each for each in news if isinstance(each, tuple)]
        self._finish(finished)
        for messages in news:
            if isinstance(messages, list):
                self._took(messages)

    def _finish(self, finished: Sequence[tuple[Delivery, Receipt]]) -> None:
        now = self._clock.now()
        for delivery, receipt in finished:
            task, call = self._running[delivery.run_id, delivery.token]
            self._in_flight.end((delivery.run_id, delivery.token), now)
            self._unwritten.append((call, _outcome(task, receipt, now=now, draw=self._draw())))
        if finished:
            self._write_outcomes()
            self._wake()

    def _took(self, messages: list[Received]) -> None:
        """A call whose delivery may take longer than this worker still has is sent on."""
        self._intake.took(messages)
        calls = self._calls(messages)
        left = self._seconds_left()
        long = {
            call.due
            for call in calls
            if (task := self._known.get(call.due.id)) and task.timeout_seconds > left
        }
        self._send_on([call for call in calls if call.due in long])
        self._agenda = deque(in_turn([*self._agenda, *(call for call in calls if call.due not in long)]))

    def _let_go(self) -> None:
        """Lets go of messages whose calls are all dealt with: what follows from them has been sent."""
        self._outbox.send()
        calls = [
            *self._agenda,
            *self._stalled.calls,
            *(call for _, call in self._running.values()),
        ]
        ids = {call.due.id for call in calls}
        self._known = {id: task for id, task in self._known.items() if id in ids}
        failed = self._tally.failed_messages | self._outbox.failed_messages
        self._intake.let_go((call.message.message_id for call in calls), failed)

    def _wake(self) -> None:
        if again := self._stalled.wake():
            self._agenda = deque(in_turn([*self._agenda, *again]))

    def _move(self, calls: Iterable[Call]) -> None:
        for call in calls:
            self._tally.moved += 1
            self._outbox.move(call.due, call.message)
        self._outbox.send()

    def _send_on(self, calls: Iterable[Call]) -> None:
        soon = self._clock.now() + (1 + self._draw()) * _PAUSE_MAX
        for call in calls:
            self._tally.deferred += 1
            self._outbox.send_on(call.due, call.message, not_before=soon)
        self._outbox.send()

    def _begin(self, calls: list[Call]) -> None:
        """Runs of recurring tasks come second: what has to be known and written first must make no other task late."""
        calls = self._stalled.with_capacity(calls, self._clock.now())
        recurring = {id for id, task in self._known.items() if task.recurs is not None}
        for taken in (
            [call for call in calls if call.due.id not in recurring],
            [call for call in calls if call.due.id in recurring],
        ):
            if taken:
                self._claim(taken)

    def _claim(self, calls: list[Call]) -> None:
        """A change whose answer is missing is written once more as it is: if it is stored already, it is ours."""
        decided: list[tuple[Call, Transition]] = self._decide(calls)
        changes: list[tuple[Call, Transition]] = []
        for attempt in range(_CLAIM_TRIES):
            followed, decided = self._follow(decided)
            changes += self._admitted(followed)
            written = self._tasks.commit([change for _, change in changes])
            self._start(_those(changes, written, Written.DONE))
            self._fail(call for call, _ in _those(changes, written, Written.REFUSED))
            lost = [call for call, _ in _those(changes, written, Written.CONFLICT)]
            changes = _those(changes, written, Written.UNAVAILABLE)
            if (changes or decided) and attempt < _CLAIM_TRIES - 1:
                self._clock.sleep_until(self._clock.now() + _PAUSE * (attempt + self._draw()))
            decided += self._decide(lost, reload=True)
            if not changes and not decided:
                break
        soon = self._clock.now() + _PAUSE_MAX
        for call, change in [*changes, *decided]:
            self._defer(call, change.before, not_before=soon)
        self._outbox.send()

    def _follow(
        self, claims: list[tuple[Call, Transition]]
    ) -> tuple[list[tuple[Call, Transition]], list[tuple[Call, Transition]]]:
        """What may be committed now, and what may not yet, because what follows it is not written. A claim is decided
        again after that took its time: a task's history says when it was really begun."""
        asking = [pair for pair in claims if asks(pair[1])]
        ready = [pair for pair in claims if pair not in asking]
        if not asking:
            return ready, []
        try:
            links = self._chain.follow([change.before for _, change in asking])
        except Unavailable:
            return ready, asking
        waiting, lost = [], []
        for (call, claim), link in zip(asking, links, strict=True):
            if link.written is Written.UNAVAILABLE:
                waiting.append((call, claim))
            elif link.written is Written.CONFLICT:
                lost.append(call)
            elif link.written is not Written.DONE:
                self._fail([call])
            elif isinstance(link.instead, Dropped):
                self._tally.dropped += 1
            elif isinstance(link.instead, Deferred):
                self._defer(call, claim.before, not_before=link.instead.not_before)
            elif change := link.instead or self._verdict(call):
                ready.append((call, change))
                self._tally.kept_back.update(link.kept_back)
                self._ends |= {claim.before.id: link.ends} if link.ends else {}
        return ready, waiting + self._decide(lost, reload=True)

    def _admitted(self, claims: list[tuple[Call, Transition]]) -> list[tuple[Call, Transition]]:
        admitted = []
        for (call, claim), change in zip(
            claims, self._gate.admit([claim for _, claim in claims]), strict=True
        ):
            match change:
                case Elsewhere():
                    self._move([call])
                case Held():
                    insort(self._agenda, replace(call, at=change.until), key=lambda call: call.at)
                case None:
                    self._defer(call, claim.before, not_before=self._clock.now() + _PAUSE_MAX)
                case Transition():
                    admitted.append((call, change))
        return admitted

    def _decide(self, calls: list[Call], *, reload: bool = False) -> list[tuple[Call, Transition]]:
        if reload and calls:
            with suppress(Unavailable):
                self._known |= self._tasks.get_many(call.due.id for call in calls)
        decided = ((call, self._verdict(call)) for call in calls)
        return [(call, change) for call, change in decided if change is not None]

    def _verdict(self, call: Call) -> Transition | None:
        task = self._known.get(call.due.id)
        if task is None:
            # A task outlives its calls, so it is there and cannot be read: its message has to stay.
            self._fail([call])
            return None
        verdict = transitions.claim(
            task,
            call.due,
            now=self._clock.now(),
            lease=self._lease,
            holder=self._holder,
            repeated=call.message.repeated,
            letter=call.message.packet.via is Via.DEAD,
            why=call.message.packet.via,
        )
        match verdict:
            case Transition():
                return verdict
            case Deferred():
                self._defer(call, task, not_before=verdict.not_before)
            case Buried():
                self._outbox.bury(task, call.message)
            case Dropped():
                self._tally.dropped += 1
        return None

    def _start(self, claimed: list[tuple[Call, Transition]]) -> None:
        started = []
        for call, change in claimed:
            task = self._known[change.after.id] = change.after
            if task.state is not State.RUNNING:
                self._record(call, change)
                continue
            self._tally.claimed += 1
            if task.attempts == 1 and task.lateness_ms is not None:
                self._tally.lateness_ms.append(task.lateness_ms)
            self._running[task.id, task.token] = (task, call)
            way = circuit(task.tenant, task.destination)
            self._in_flight.begin((task.id, task.token), way, self._clock.now())
            started.append(task)
        self._deliveries.start(started, self._report, unsent=self._unsent)
        for _, change in claimed:
            if ends := self._ends.pop(change.after.id, None):
                self._chain.finish(ends)

    def _report(self, delivery: Delivery, receipt: Receipt) -> None:
        """Called by whichever thread ends a delivery."""
        if not isinstance(receipt, Untried):
            self._gate.hear(delivery, receipt)
        self._unsent(delivery, receipt)

    def _unsent(self, delivery: Delivery, receipt: Receipt) -> None:
        """Its destination has said nothing by it."""
        self._inbox.put((delivery, receipt))

    def _write_outcomes(self) -> None:
        """What cannot be written now is written later, as long as this worker lives and holds the lease."""
        written = self._tasks.commit([change for _, change in self._unwritten])
        for call, change in _those(self._unwritten, written, Written.DONE):
            self._record(call, change)
        self._call_again(_those(self._unwritten, written, Written.CONFLICT))
        self._fail(call for call, _ in _those(self._unwritten, written, Written.REFUSED))
        kept = _those(self._unwritten, written, Written.UNAVAILABLE)
        if kept and self._seconds_left() <= 0:
            self._fail(call for call, _ in kept)
            kept = []
        ended = [change for pair in self._unwritten if pair not in kept for change in pair[1:]]
        for change in ended:
            self._running.pop((change.before.id, change.before.token))
        self._gate.listen()
        self._gate.left(ended)
        self._unwritten = kept
        self._pause = min(self._pause * 2, _PAUSE_MAX) if kept else _PAUSE
        self._write_at = self._clock.now() + self._pause
        self._outbox.send()

    def _call_again(self, fenced_off: list[tuple[Call, Transition]]) -> None:
        """Somebody else has the task, or had it and died before he sent what follows: this may be the last call that
        is left of it, so it is made once more when the lease that he got is over."""
        self._tally.fenced_off += len(fenced_off)
        for call, change in fenced_off:
            self._outbox.defer(
                Due.of(change.before), call.message, not_before=self._clock.now() + self._lease
            )

    def _record(self, call: Call, change: Transition) -> None:
        task = self._known[change.after.id] = change.after
        if change.postponed:
            self._tally.postponed += 1
            if not self._is_left_to_a_sweep(change):
                self._outbox.postpone(task, call.message)
            return
        if change.before.state is State.RUNNING and task.state in _FAILED:
            self._tally.failures.append(task)
        match task.state:
            case State.SUCCEEDED:
                self._tally.succeeded += 1
            case State.RUNNING:
                self._tally.accepted += 1
                self._outbox.defer(Due.of(task), call.message, not_before=task.lease_until)
            case State.RETRYING:
                self._tally.retried += 1
                if not self._is_left_to_a_sweep(change):
                    self._outbox.retry(task, call.message)
            case State.DEAD:
                self._tally.dead += 1
                self._outbox.bury(task, call.message)
            case State.EXPIRED:
                self._tally.expired += 1
            case State.PENDING | State.CANCELLED | State.SKIPPED | State.MISSED:
                self._tally.kept_back[task.state] += 1
                if task.state.waits:
                    self._outbox.defer(Due.of(task), call.message, not_before=None)
            case _:
                assert_never(task.state)

    def _is_left_to_a_sweep(self, change: Transition) -> bool:
        """True if its pointer was written before the pointer's minute could be opened. The open pass may have missed a
        pointer that was written late, and the closing pass takes it for one that the open pass saw."""
        return change.points and not self._horizon.reaches(change.after.due_at, self._clock.now())

    def _renew(self) -> None:
        """Long work keeps what it holds: the messages, and the lease of each task that is still running."""
        self._let_go()
        self._intake.renew()
        self._renew_at = self._clock.now() + self._lease / 2
        running = [task for task, _ in self._running.values()]
        self._tasks.extend(running, self._clock.now() + self._lease)
        self._gate.extend(running)

    def _defer(self, call: Call, task: Task, *, not_before: datetime | None) -> None:
        self._tally.deferred += 1
        self._outbox.defer(Due.of(task), call.message, not_before=not_before)

    def _fail(self, calls: Iterable[Call]) -> None:
        self._tally.failed_messages |= {call.message.message_id for call in calls}


def _those(
    changes: list[tuple[Call, Transition]], written: list[Written], which: Written
) -> list[tuple[Call, Transition]]:
    return [pair for pair, done in zip(changes, written, strict=True) if done is which]


def _outcome(task: Task, receipt: Receipt, *, now: datetime, draw: float) -> Transition:
    if isinstance(receipt, Untried):
        return transitions.release(task, now=now, until=now + (1 + draw) * _UNTRIED_PAUSE, why=receipt.reason)
    if isinstance(receipt, Delivered) and task.ack is Ack.EXPLICIT:
        return transitions.accept(task, now=now)
    if isinstance(receipt, Delivered):
        why = "delivered" if receipt.http_status is None else f"http {receipt.http_status}"
        return transitions.succeed(task, now=now, why=why)
    failure = Failure(
        why=receipt.reason, final=not receipt.retry, retry_after_seconds=receipt.retry_after_seconds
    )
    return transitions.fail(task, now=now, failure=failure, draw=draw)
