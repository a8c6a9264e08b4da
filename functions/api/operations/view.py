"""The answer about a backfill, in the form of every operation."""

from functions.api.forms import text_of
from functions.api.operations.answers import Operation
from functions.api.operations.backfill import Backfill


def view(backfill: Backfill) -> Operation:
    step, progress = backfill.step, backfill.progress
    return {
        "operation_id": backfill.id,
        "action": "backfill",
        "task_id": backfill.task_id,
        "from": text_of(step.first),
        "to": text_of(step.last),
        "state": progress.state.value,
        "eligible": {"count": progress.total},
        "done": progress.done,
        "reason": progress.reason,
        "created_at": text_of(backfill.asked_at),
        "finished_at": text_of(progress.finished_at),
    }
