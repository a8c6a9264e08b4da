"""Changes and cancels one-time tasks that wait: one conditional write for each change. After a conflict it decides
again.

The new call is sent after the write; if that is lost, the closing pass over the new slot finds the pointer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from functions.api.tasks.checks.places import PlaceCheck, PlaceWanted
from postdate.domain import task_requests
from postdate.domain.errors import Conflict, NotFound, Unavailable, VersionMismatch
from postdate.domain.item import kind_of
from postdate.domain.sweeping import Horizon
from postdate.domain.task import KIND, State, Task
from postdate.domain.transitions import Transition
from postdate.runtime import metric
from postdate.runtime.clock import Clock
from postdate.runtime.observability import emit, logger
from postdate.runtime.queue import Queue
from postdate.stores.payloads import Payloads
from postdate.stores.tasks import Tasks, Written
from postdate.use_cases import calls

_TRIES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskChanger:
    tasks: Tasks
    payloads: Payloads
    places: PlaceCheck
    queue: Queue
    horizon: Horizon
    payload_kept: timedelta
    clock: Clock
    unique: Callable[[], bytes]

    def load(self, tenant: str, id: str) -> Task:
        """The one-time task with this id. Raises NotFound also for a run of a recurring task."""
        task = self.tasks.get(id) if kind_of(id) == KIND else None
        if task is None or task.tenant != tenant:
            raise NotFound(f"there is no task {id}")
        return task

    def cancel(self, tenant: str, id: str, *, version: int | None) -> Task:
        return self._change(tenant, id, version, task_requests.cancel)

    def edit(
        self, tenant: str, id: str, *, version: int | None, due_at: datetime | None, **changes: Any
    ) -> Task:
        """Changes fields of a Task. A payload is a text, not a key. A deadline keeps its distance to the instant."""

        def decide(task: Task, *, now: datetime) -> Transition:
            why, moved = _why(due_at, changes), dict(changes)
            if due_at is not None and task.expires_at is not None:
                moved["expires_at"] = due_at + (task.expires_at - task.planned_at)
            transition = task_requests.edit(task, now=now, due_at=due_at, why=why, **moved)
            if due_at is not None or "flow" in changes:
                self._refuse_without_place(transition.after)
            return transition

        task = self._change(tenant, id, version, decide)
        if due_at is not None:
            calls.send([task], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return task

    def _refuse_without_place(self, task: Task) -> None:
        (refusal,) = self.places.refusals(task.tenant, [PlaceWanted(flow=task.flow, due_at=task.due_at)])
        if refusal is not None:
            raise refusal

    def _change(
        self, tenant: str, id: str, version: int | None, decide: Callable[..., Transition | None]
    ) -> Task:
        """Commits what is decided about the task as it is now, decided again if another writer changed it first."""
        for _ in range(_TRIES):
            task = self.load(tenant, id)
            transition = decide(task, now=self.clock.now())
            if transition is None:
                return task
            if version is not None and version != task.version:
                raise VersionMismatch(f"the task has version {task.version}")
            transition = self._with_payload_stored(transition)
            (written,) = self.tasks.commit([transition])
            if written is Written.DONE:
                _tell(transition)
                return transition.after
            if written is Written.UNAVAILABLE:
                raise Unavailable
        raise Conflict

    def _with_payload_stored(self, transition: Transition) -> Transition:
        """The task with its payload in the right place. A payload outside the task's row gets a new row for each
        version, so two changes at once do not overwrite each other. The row outlives the new instant."""
        before, after = transition.before, transition.after
        if (after.payload, after.due_at) == (before.payload, before.due_at):
            return transition
        text = after.payload.text
        if after.payload.key is not None:
            text = self.payloads.get(after.payload.key)
        elif self.tasks.fits(after):
            return transition
        if text is None:
            return transition
        key = f"{after.id}#{self.unique().hex()}"
        self.payloads.put(key, text, keep_until=after.due_at + self.payload_kept)
        return replace(transition, after=replace(after, payload=after.payload.moved_to(key)))


def _why(due_at: datetime | None, changes: dict[str, Any]) -> str:
    names = sorted(changes) if due_at is None else ["run_at", *sorted(changes)]
    return f"changed {', '.join(names)}"


def _tell(change: Transition) -> None:
    """Logs each change in one line."""
    before, after = change.before, change.after
    if after.state is State.CANCELLED:
        emit(metric.TASKS_CANCELLED)
    elif after.due_at != before.due_at:
        emit(metric.TASKS_RESCHEDULED)
    logger.info(
        "a task changed",
        extra={
            "action": "task_cancelled" if after.state is State.CANCELLED else "task_changed",
            "task_id": after.id,
            "version": after.version,
            "why": after.history[-1].why,
        },
    )
