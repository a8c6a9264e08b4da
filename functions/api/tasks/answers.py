"""Answers about tasks of both kinds: what the routes of all tasks return."""

from typing import Annotated, NotRequired, TypeAlias

from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Partial, described
from functions.api.errors import Problem, problem
from functions.api.runs.answers import Run
from functions.api.tasks.one_time.answers import Task
from functions.api.tasks.recurring.answers import RecurringTask
from postdate.domain.errors import PostdateError

AnyTask: TypeAlias = Task | RecurringTask


class TaskList(TypedDict):
    tasks: list[Task | RecurringTask | Run]
    next_cursor: Cursor
    partial: Partial


class TaskResult(TypedDict):
    index: Count
    task: NotRequired[Annotated[Task | RecurringTask, described("The task, unless it was refused.")]]
    error: NotRequired[Annotated[Problem, described("The reason for the refusal.")]]


class BatchAnswer(TypedDict):
    results: Annotated[list[TaskResult], described("One result for each task, in the order of the request.")]


def result(index: int, answer: AnyTask | PostdateError, request_id: str) -> TaskResult:
    """The result of one task of a batch."""
    if isinstance(answer, PostdateError):
        return {"index": index, "error": problem(answer, request_id)}
    return {"index": index, "task": answer}
