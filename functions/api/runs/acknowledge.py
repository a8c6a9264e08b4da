"""The receiver's own word about a run: done, failed, or still at it.

Its token says that the word is about the newest attempt. The outcome is written first, then the call that follows from
it is sent; if that is lost, the call that waits in the queue for the end of the lease makes up for it, and so does the
receiver's repeated word, which is answered like the first. Last of all, a run that has ended leaves its key's room (see
`rooms`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from functions.api.runs.rooms import Rooms
from postdate.domain import transitions
from postdate.domain.due import DELAY_MAX, Due, Packet, Via
from postdate.domain.errors import Conflict, InvalidState, NotFound, Unavailable
from postdate.domain.item import kind_of
from postdate.domain.task import OPERATION_KIND, Ack, State, Task
from postdate.domain.transitions import Failure, Transition
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.runtime.queue import Queue
from postdate.stores.tasks import Tasks, Written

_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Acknowledger:
    tasks: Tasks
    rooms: Rooms
    queue: Queue
    clock: Clock
    # Draws a number from 0 to 1.
    draw: Callable[[], float]

    def load(self, tenant: str, id: str) -> Task:
        """Steps of an operation are no runs."""
        task = None if kind_of(id) == OPERATION_KIND else self.tasks.get(id)
        if task is None or task.tenant != tenant:
            raise NotFound(f"there is no run {id}")
        return task

    def complete(self, tenant: str, id: str, *, token: int) -> Task:
        def decide(task: Task) -> Transition | None:
            # The first answer was lost, and the receiver repeats its word.
            if task.state is State.SUCCEEDED and task.token == token:
                return None
            _refuse_others(task, token)
            return transitions.succeed(task, now=self.clock.now(), why="completed")

        task = self._change(tenant, id, decide)
        self.rooms.leave(task)
        return task

    def fail(self, tenant: str, id: str, *, token: int, error: str | None, final: bool) -> Task:
        def decide(task: Task) -> Transition | None:
            if task.state.follows_failure and task.token == token:
                return None
            _refuse_others(task, token)
            failure = Failure(why=error or "its receiver said so", final=final)
            return transitions.fail(task, now=self.clock.now(), failure=failure, draw=self.draw())

        task = self._change(tenant, id, decide)
        self._call(task)
        self.rooms.leave(task)
        return task

    def extend(self, tenant: str, id: str, *, token: int, seconds: int | None) -> Task:
        """Never makes a lease shorter."""
        task = self.load(tenant, id)
        _refuse_others(task, token)
        until = self.clock.now() + timedelta(seconds=seconds or task.timeout_seconds)
        if task.lease_until is not None and task.lease_until >= until:
            return task
        (written,) = self.tasks.extend([task], until)
        if written is Written.DONE:
            self.rooms.stay(task, until)
            return replace(task, lease_until=until)
        if written is Written.CONFLICT:
            _refuse_others(self.load(tenant, id), token)
            raise Conflict
        raise Unavailable

    def _change(self, tenant: str, id: str, decide: Callable[[Task], Transition | None]) -> Task:
        """Commits what is decided about the run as it is now, decided again if a worker changed the run first."""
        for _ in range(_TRIES):
            task = self.load(tenant, id)
            transition = decide(task)
            if transition is None:
                return task
            (written,) = self.tasks.commit([transition])
            if written is Written.DONE:
                return transition.after
            if written is not Written.CONFLICT:
                raise Unavailable
        raise Conflict

    def _call(self, task: Task) -> None:
        """Sends the call that follows from a failure. A retry gets its own call, unless it is so far away that a sweep
        sends it. A dead task gets a repeated call of its version before: the worker finds the task dead and sends its
        dead letter."""
        packet = Packet(tenant=task.tenant, via=Via.RETRY, dues=(Due.of(task),))
        if task.state is State.DEAD:
            before = replace(Due.of(task), version=task.version - 1)
            packet = replace(packet, dues=(before,), seen=True)
        elif task.state is not State.RETRYING or task.due_at > self.clock.now() + DELAY_MAX:
            return
        try:
            self.queue.send([packet])
        except Unavailable as error:
            logger.warning(
                "a call was not sent and follows at the end of the lease",
                extra={"action": "call_not_sent", "items": 1, "reason": str(error)},
            )


def _refuse_others(task: Task, token: int) -> None:
    if task.ack is not Ack.EXPLICIT:
        raise InvalidState(task.state, "this run ends with the answer to its delivery, not with a request")
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"the run is {task.state}")
    if task.token != token:
        raise InvalidState(task.state, "the token is not the token of the newest attempt")
