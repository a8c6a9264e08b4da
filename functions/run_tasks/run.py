"""Runs the calls of one batch, each at its instant.

Commits the claim (see `claiming`), acts (`delivering`), commits the outcome (`recording`). A worker that dies after the
claim leaves a lease; when it is over, the message is back and the next attempt has a newer token.

A delivery that the receiver has yet to acknowledge leaves the task RUNNING under the receiver's lease, and a call for
the end of that lease. A worker that dies between the two leaves its own message, which then waits for the same.

One thread decides and commits; destinations work in threads of their own and report into an inbox. An item that is
due goes before an outcome that waits to be written, and nothing waits for a slow neighbour.

A worker that deliveries keep from ending takes further messages itself (see `intake`), and no tenant's deliveries use
up what it can have in flight (see `in_flight`). Tasks that an operator has stopped wait in the queue (see `stops`).
"""

import queue
from collections.abc import Iterable, Sequence
from datetime import datetime

from functions.run_tasks.batch import Batch, Worker
from functions.run_tasks.chain import RunChain
from functions.run_tasks.claiming import Claiming
from functions.run_tasks.delivering import Delivering, Finished
from functions.run_tasks.gate.admit import Gate
from functions.run_tasks.in_flight import InFlight, Stalled
from functions.run_tasks.intake import Intake
from functions.run_tasks.recording import Recording
from functions.run_tasks.sending import Sender
from functions.run_tasks.tally import TaskTally
from postdate.domain.due import PACKET_ITEMS_MAX
from postdate.domain.errors import Unavailable
from postdate.domain.task import Task
from postdate.runtime.agenda import Call, calls_of, in_turn, take_due
from postdate.runtime.outbox import Outbox
from postdate.runtime.queue import Received
from postdate.stores.tasks import Tasks


class TaskRunner:
    """Made anew for each batch; everything it touches is given."""

    def __init__(
        self,
        worker: Worker,
        *,
        tasks: Tasks,
        chain: RunChain,
        gate: Gate,
        sender: Sender,
        outbox: Outbox,
        intake: Intake,
        in_flight: InFlight,
    ) -> None:
        self._worker = worker
        self._tasks = tasks
        self._chain = chain
        self._gate = gate
        self._sender = sender
        self._intake = intake
        self._in_flight = in_flight
        self._stops = gate.stops
        # Threads that deliver put their reports here. Only the thread of the batch decides about them.
        self._inbox: queue.SimpleQueue[Finished | list[Received]] = queue.SimpleQueue()
        self._stalled = Stalled(in_flight)
        self._batch = Batch(worker, outbox, tasks)
        self._delivering = Delivering(
            self._batch,
            worker,
            sender=sender,
            gate=gate,
            in_flight=in_flight,
            report=self._inbox.put,
        )
        self._recording = Recording(self._batch, worker, gate=gate, delivering=self._delivering)
        self._claiming = Claiming(
            self._batch,
            worker,
            tasks=tasks,
            chain=chain,
            gate=gate,
            delivering=self._delivering,
            recording=self._recording,
            sealed=sender.sealed,
        )
        self._renew_at = worker.clock.now()

    def run(self, messages: Sequence[Received]) -> TaskTally:
        batch, clock = self._batch, self._worker.clock
        self._intake.renew()
        self._renew_at = clock.now() + self._worker.lease / 2
        batch.agenda.extend(self._calls(messages))
        while batch.agenda or self._delivering.running or self._stalled.calls or self._intake.asks:
            self._go_on(clock.now())
        batch.outbox.send()
        batch.tally.failed_messages |= batch.outbox.failed_messages
        self._intake.let_go((), batch.tally.failed_messages, at_once=True)
        batch.tally.packets = len(messages) + self._intake.taken
        return batch.tally

    def _go_on(self, now: datetime) -> None:
        """Does the most urgent work. If nothing is due, waits for a report or for the next instant."""
        agenda = self._batch.agenda
        if agenda and agenda[0].at <= now:
            self._begin(take_due(agenda, now, most=PACKET_ITEMS_MAX))
        elif (writes_at := self._recording.writes_at) is not None and writes_at <= now:
            self._recording.commit([])
        elif self._renew_at <= now:
            self._renew()
        elif (patience_ends := self._stalled.patience_ends) is not None and patience_ends <= now:
            self._batch.send_on(self._stalled.out_of_patience(now))
        elif not self._inbox.empty():
            self._take_news(now)
        elif (looks_at := self._in_flight.looks_at) is not None and looks_at <= now:
            self._gate.breakers.slowed(self._in_flight.slow(now))
        elif (stops_at := self._stops_at) is not None and stops_at <= now:
            soon = [call for call in agenda if call.at <= agenda[0].at]
            self._stops.look_for(agenda[0].at, self._with_tasks(soon))
        elif (asks_at := self._intake.asks_at(len(agenda))) is not None and asks_at <= now:
            self._let_go()
            self._intake.ask(self._inbox.put)
        else:
            due_at = agenda[0].at if agenda else None
            instants = (self._renew_at, due_at, writes_at, patience_ends, asks_at, looks_at, stops_at)
            self._take_news(min(at for at in instants if at is not None))

    def _calls(self, messages: Sequence[Received]) -> list[Call]:
        """Returns the calls of these messages in the order of their instants."""
        batch = self._batch
        batch.tally.redelivered += sum(message.receives > 1 for message in messages)
        calls = calls_of(messages, self._worker.clock.now())
        try:
            known = self._tasks.get_many(call.due.id for call in calls)
        except Unavailable:
            batch.fail(calls)
            return []
        batch.known |= known
        self._sender.prefetch(known.values())
        batch.traced |= self._sender.traced(known.values())
        slow = self._gate.foresee(known.values())
        if recurring := [task for task in known.values() if task.recurs is not None]:
            self._chain.foresee(recurring)
        if slow:
            batch.send_to_slow_lane([call for call in calls if call.due.id in slow])
        return in_turn(call for call in calls if call.due.id not in slow)

    def _take_news(self, until: datetime) -> None:
        """Waits for the instant or the first news, whichever is sooner. News are outcomes, which are committed, and
        further messages, whose calls are planned."""
        clock = self._worker.clock
        if not self._in_flight.count and not self._intake.asks:
            clock.sleep_until(until)
            return
        try:
            news = [self._inbox.get(timeout=max(0.0, (until - clock.now()).total_seconds()))]
        except queue.Empty:
            return
        while len(news) < PACKET_ITEMS_MAX and not self._inbox.empty():
            news.append(self._inbox.get())
        if finished := [each for each in news if isinstance(each, tuple)]:
            self._recording.commit(self._delivering.ended(finished, clock.now()))
            if again := self._stalled.wake():
                self._batch.plan(again)
        for messages in news:
            if isinstance(messages, list):
                self._took(messages)

    def _took(self, messages: list[Received]) -> None:
        """A call whose delivery may take longer than this worker still has is sent on."""
        self._intake.took(messages)
        calls = self._calls(messages)
        left = self._worker.seconds_left()
        long = {
            call.due
            for call in calls
            if (task := self._batch.known.get(call.due.id)) and task.timeout_seconds > left
        }
        self._batch.send_on([call for call in calls if call.due in long])
        self._batch.plan(call for call in calls if call.due not in long)

    def _let_go(self) -> None:
        """Lets go of messages whose calls are all dealt with: what follows from them has been sent."""
        self._batch.outbox.send()
        calls = [*self._batch.agenda, *self._stalled.calls, *self._delivering.calls]
        self._batch.forget(calls)
        self._intake.let_go((call.message.message_id for call in calls), self._batch.failed_messages)

    def _begin(self, calls: list[Call]) -> None:
        """Claims the calls that may begin now. Runs of recurring tasks come second: they need more reads and writes
        before they begin, which must make no other task late."""
        calls = self._allowed(self._stalled.with_capacity(calls, self._worker.clock.now()))
        recurring = {id for id, task in self._batch.known.items() if task.recurs is not None}
        for taken in (
            [call for call in calls if call.due.id not in recurring],
            [call for call in calls if call.due.id in recurring],
        ):
            if taken:
                self._claiming.claim(taken)

    def _allowed(self, calls: list[Call]) -> list[Call]:
        """The calls of tasks that no switch stops now. The others are sent again, to ask later."""
        allowed = []
        for call, until in zip(calls, self._stops.until(self._with_tasks(calls)), strict=True):
            if until is None:
                allowed.append(call)
            else:
                self._batch.stop(call, until)
        if len(allowed) < len(calls):
            self._batch.outbox.send()
        return allowed

    def _with_tasks(self, calls: Iterable[Call]) -> list[tuple[Call, Task | None]]:
        return [(call, self._batch.known.get(call.due.id)) for call in calls]

    @property
    def _stops_at(self) -> datetime | None:
        """The instant of the next look at the switches."""
        agenda = self._batch.agenda
        return (
            self._stops.next_look_at(agenda[0], self._batch.known.get(agenda[0].due.id)) if agenda else None
        )

    def _renew(self) -> None:
        """Extends the visibility of the messages, and the lease and the room of each task that is still running."""
        self._let_go()
        self._intake.renew()
        now = self._worker.clock.now()
        self._renew_at = now + self._worker.lease / 2
        self._tasks.extend(self._delivering.tasks, now + self._worker.lease)
        self._gate.rooms.extend(self._delivering.tasks)
