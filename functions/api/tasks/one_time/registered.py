"""Logs and counts the tasks that a request has registered."""

from collections.abc import Sequence

from functions.api import delays
from postdate.domain.task import Task
from postdate.runtime import metric
from postdate.runtime.observability import emit_all, logger


def note(written: Sequence[Task]) -> None:
    """Logs the tasks of a request in one line, which leads from the id of the request to the ids of the tasks."""
    if written:
        logger.info(
            "tasks are scheduled",
            extra={"action": "tasks_scheduled", "tasks": [task.id for task in written]},
        )
    delayed = delays.counted(task.planned_at - task.created_at for task in written)
    emit_all({metric.TASKS_SCHEDULED: len(written)} | delayed)
