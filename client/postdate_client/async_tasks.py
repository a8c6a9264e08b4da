"""Tasks for asyncio. `python client/generate.py` writes `tasks.py` from this file."""

from collections.abc import AsyncIterator, Sequence
from typing import Final, Unpack

from postdate_client.answers import (
    AnyCancelledTask,
    AnyTask,
    AnyTaskWithPayload,
    ListedTask,
    Operation,
    PlannedRun,
    RecurringTask,
    Run,
    Task,
    TaskResult,
)
from postdate_client.async_requests import AsyncRequests
from postdate_client.forms import (
    BackfillForm,
    BatchTaskForm,
    PauseForm,
    PreviewForm,
    TaskChangeForm,
    TaskForm,
)
from postdate_client.queries import TasksQuery
from postdate_client.values import given, keyed, named, new_key, path_of

_ENDS: Final = frozenset({"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "FINISHED"})
_LIST: Final = "/api/v1/tasks"


class AsyncTasks(AsyncRequests):
    """Calls of webhooks, queues, topics and buses at a later instant, once or by a cron."""

    async def register_task(self, *, idempotency_key: str | None = None, **form: Unpack[TaskForm]) -> AnyTask:
        """Registers a task; one of `run_at`, `delay_seconds` and `cron` says when."""
        key = idempotency_key or new_key()
        answer: AnyTask = await self.request("POST", _LIST, named(form), idempotency_key=key)
        return answer

    async def register_tasks(self, tasks: Sequence[BatchTaskForm]) -> list[TaskResult]:
        """Registers up to 100 tasks. Each is registered or refused by itself, and has a key of its own."""
        items = [keyed(each) for each in tasks]
        return await self._batch(f"{_LIST}/batch", "tasks", items)

    async def task(self, task_id: str) -> AnyTaskWithPayload:
        answer: AnyTaskWithPayload = await self.request("GET", path_of("tasks", task_id))
        return answer

    def tasks(self, **query: Unpack[TasksQuery]) -> AsyncIterator[ListedTask]:
        """All tasks that fit. `limit` is that of a page."""
        return self.pages(_LIST, "tasks", query=named(query))

    async def change_task(
        self, task_id: str, *, version: int | None = None, **changes: Unpack[TaskChangeForm]
    ) -> AnyTask:
        """Changes a task that is PENDING, or recurs. A change with a `version` is sent once."""
        path, body = path_of("tasks", task_id), named(changes)
        answer: AnyTask = await self.request("PATCH", path, body, version=version, repeatable=version is None)
        return answer

    async def cancel_task(self, task_id: str) -> AnyCancelledTask:
        """Cancels a task. Cancelling it again is no error."""
        answer: AnyCancelledTask = await self.request("DELETE", path_of("tasks", task_id), repeatable=True)
        return answer

    async def pause_task(self, task_id: str, **form: Unpack[PauseForm]) -> RecurringTask:
        """Plans no more runs of a recurring task. Pausing it again is no error."""
        path = f"{path_of('tasks', task_id)}/pause"
        answer: RecurringTask = await self.request("POST", path, given(form), repeatable=True)
        return answer

    async def resume_task(self, task_id: str) -> RecurringTask:
        """Plans runs again, from now on. Resuming it again is no error."""
        path = f"{path_of('tasks', task_id)}/resume"
        answer: RecurringTask = await self.request("POST", path, repeatable=True)
        return answer

    async def retry_task(self, task_id: str) -> Task:
        """Begins the attempts of a DEAD task anew. It is sent once."""
        answer: Task = await self.request("POST", f"{path_of('tasks', task_id)}/retry")
        return answer

    async def trigger_task(self, task_id: str, *, idempotency_key: str | None = None) -> Run:
        """Runs a recurring task now. The plan stays as it is."""
        path = f"{path_of('tasks', task_id)}/trigger"
        answer: Run = await self.request("POST", path, idempotency_key=idempotency_key or new_key())
        return answer

    async def backfill_task(
        self, task_id: str, *, idempotency_key: str | None = None, **form: Unpack[BackfillForm]
    ) -> Operation:
        """Runs a recurring task for each of its instants in a time of the past."""
        path, key = f"{path_of('tasks', task_id)}/backfill", idempotency_key or new_key()
        answer: Operation = await self.request("POST", path, named(form), idempotency_key=key)
        return answer

    async def preview(self, cron: str | None = None, **form: Unpack[PreviewForm]) -> list[PlannedRun]:
        """The next instants of a cron, or of the task of a `task_id`, with notes on changes of clocks."""
        body = given(named(form) | {"cron": cron})
        answer = await self.request("POST", f"{_LIST}/preview", body, repeatable=True)
        return list(answer["next"])

    async def wait_for_task(
        self, task_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> AnyTaskWithPayload:
        """The task once it has ended. Raises DeadlineExceeded."""
        return await self._ended(self.task, task_id, _ENDS, seconds, every_seconds)
