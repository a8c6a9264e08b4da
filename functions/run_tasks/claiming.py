"""Claims tasks whose instant has come: decides about each call, and commits what was decided.

A run of a recurring task is claimed only when its task still stands, and what follows it is written and called (see
`chain`). A worker that dies before that leaves the run as it was, and its message; the next one does the same again.

A claim that is decided passes the gate before it is written (see `gate`): it may have to wait for its turn.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Final

from functions.run_tasks.batch import Batch, Change, Worker
from functions.run_tasks.chain import ClaimStep, Ends, RunChain, asks
from functions.run_tasks.delivering import Delivering
from functions.run_tasks.gate.admit import Gate
from functions.run_tasks.gate.answers import SlowLane, Waits
from functions.run_tasks.recording import Recording
from postdate.domain import verdicts
from postdate.domain.due import Via
from postdate.domain.errors import Unavailable
from postdate.domain.following import with_number
from postdate.domain.task import RECEIVER, State, Task
from postdate.domain.transitions import Transition
from postdate.domain.verdicts import Buried, Deferred, Dropped
from postdate.runtime.agenda import Call
from postdate.stores.tasks import Tasks, Written

_TRIES: Final = 4
_PAUSE: Final = timedelta(milliseconds=50)


class Claiming:
    """`sealed` returns a task with headers as it is to be written."""

    def __init__(
        self,
        batch: Batch,
        worker: Worker,
        *,
        tasks: Tasks,
        chain: RunChain,
        gate: Gate,
        delivering: Delivering,
        recording: Recording,
        sealed: Callable[[Task], Task],
    ) -> None:
        self._batch = batch
        self._worker = worker
        self._tasks = tasks
        self._chain = chain
        self._gate = gate
        self._delivering = delivering
        self._recording = recording
        self._sealed = sealed
        self._ends: dict[str, Ends] = {}

    def claim(self, calls: list[Call]) -> None:
        """A change whose answer is missing is written once more as it is: if it is stored already, it is ours."""
        clock = self._worker.clock
        decided = self._decide(calls)
        changes: list[Change] = []
        for attempt in range(_TRIES):
            followed, decided = self._follow(decided)
            changes += self._pass_gate(followed)
            of = self._batch.commit(changes)
            self._start(of[Written.DONE])
            changes = of[Written.UNAVAILABLE]
            if (changes or decided) and attempt < _TRIES - 1:
                clock.sleep_until(clock.now() + _PAUSE * (attempt + self._worker.draw()))
            if lost := [call for call, _ in of[Written.CONFLICT]]:
                decided += self._decide(lost, reload=True)
            if not changes and not decided:
                break
        else:
            self._batch.back_off(changes)
            self._batch.defer_soon((call, change.before) for call, change in decided)
        self._batch.outbox.send()

    def _start(self, claimed: list[Change]) -> None:
        """Delivers tasks that are RUNNING, and records those that ended or wait instead."""
        if not claimed:
            return
        self._batch.tally.leases_expired += sum(_was_lost(change) for _, change in claimed)
        started = []
        for call, change in claimed:
            self._batch.known[change.after.id] = change.after
            if change.after.state is State.RUNNING:
                started.append((call, change))
            else:
                self._recording.follow_up(call, change)
        if started:
            self._delivering.begin(started)
        for _, change in claimed:
            if ends := self._ends.pop(change.after.id, None):
                self._chain.finish(ends)

    def _follow(self, claims: list[Change]) -> tuple[list[Change], list[Change]]:
        """Returns the claims to commit now, and those to put off because their next run is not written. The wait for
        the next run takes time, so each claim is decided again: the history tells the true instant of its
        beginning."""
        asking = [pair for pair in claims if pair[1].before.recurs is not None and asks(pair[1])]
        ready = [pair for pair in claims if pair not in asking]
        if not asking:
            return ready, []
        try:
            links = self._chain.follow([change.before for _, change in asking])
        except Unavailable:
            return ready, asking
        waiting, lost = [], []
        for (call, claim), link in zip(asking, links, strict=True):
            step = self._decide_one(call) if link.step is ClaimStep.BEGIN else link.step
            match step:
                case Transition():
                    ready.append((call, with_number(step, link.number)))
                    self._batch.tally.kept_back.update(link.kept_back)
                    self._ends |= {claim.before.id: link.ends} if link.ends else {}
                case Deferred() | Dropped():
                    self._batch.answer(call, claim.before, step)
                case ClaimStep.ASK_AGAIN:
                    waiting.append((call, claim))
                case ClaimStep.DECIDE_AGAIN:
                    lost.append(call)
                case ClaimStep.FAIL:
                    self._batch.fail([call])
        return ready, waiting + self._decide(lost, reload=True)

    def _pass_gate(self, claims: list[Change]) -> list[Change]:
        """Also moves, holds or defers the calls that the gate keeps back."""
        admitted = []
        changes = self._gate.admit([claim for _, claim in claims])
        for (call, claim), change in zip(claims, changes, strict=True):
            match change:
                case SlowLane():
                    self._batch.send_to_slow_lane([call])
                case Waits():
                    self._batch.put_off(call, change.until)
                case None:
                    self._batch.defer_soon([(call, claim.before)])
                case Transition():
                    admitted.append((call, _signed(change, call)))
        return admitted

    def _decide(self, calls: list[Call], *, reload: bool = False) -> list[Change]:
        if reload and calls:
            with suppress(Unavailable):
                self._batch.known |= self._tasks.get_many(call.due.id for call in calls)
        return [(call, change) for call in calls if (change := self._decide_one(call))]

    def _decide_one(self, call: Call) -> Transition | None:
        """Also defers, buries or drops the call."""
        task = self._batch.known.get(call.due.id)
        if task is None:
            # A task outlives its calls, so it is there and cannot be read: its message has to stay.
            self._batch.fail([call])
            return None
        verdict = verdicts.claim(
            task,
            call.due,
            now=self._worker.clock.now(),
            lease=self._worker.lease,
            holder=self._worker.holder,
            repeated=call.message.repeated,
            letter=call.message.packet.via is Via.DEAD,
            why=call.message.packet.via,
        )
        if isinstance(verdict, Deferred | Buried | Dropped):
            self._batch.answer(call, task, verdict)
            return None
        if verdict.after.destination.headers or verdict.after.destination.sealed:
            return replace(verdict, after=self._sealed(verdict.after))
        return verdict


def _signed(change: Transition, call: Call) -> Transition:
    """The author of a redrive signs the first change that follows from it, and no later one."""
    if change.before.state is not State.DEAD:
        return change
    return replace(change, after=change.after.signed(call.message.packet.by))


def _was_lost(change: Transition) -> bool:
    """True if a worker had the task until its lease ended. A receiver's lease may end as well, and no worker died."""
    return change.before.state is State.RUNNING and change.before.holder != RECEIVER
