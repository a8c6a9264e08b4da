"""Changes of the table `items` as events: tasks, runs and plans."""

from functions.record.changes import Change
from postdate.domain import task_event
from postdate.domain.definition import is_definition
from postdate.domain.event import Event, kind_of_item
from postdate.stores.definition_row import author_in, definition_in
from postdate.stores.task_row import task_in


def event_of(change: Change) -> Event | None:
    """The event of a change in the table of tasks; None for a pointer, for a step of a backfill, and for a change that
    makes no version."""
    id = change.keys["id"]["S"]
    if "points_to" in change.after:
        return None
    if is_definition(id):
        plan = definition_in(change.before) if change.before else None
        return task_event.plan_event(plan, definition_in(change.after), by=author_in(change.after))
    if kind_of_item(id) is None:
        return None
    task = task_in(change.before) if change.before else None
    return task_event.task_event(task, task_in(change.after))
