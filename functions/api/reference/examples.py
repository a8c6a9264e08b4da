"""Examples of answers. The functions that build the answers of the API also build these."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.reference import flow_examples, overview_examples, payment_examples, run_examples
from functions.api.tasks.examples import PAYLOAD, QUEUE
from functions.api.tasks.one_time import answers as tasks
from postdate.domain import instants, task_requests, transitions, verdicts
from postdate.domain.due import Due, Via
from postdate.domain.slots import Slot, item_id
from postdate.domain.task import KIND, Destination, Payload, Task, Template

_AT: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
_CREATED: Final = datetime(2026, 11, 18, 9, 30, 12, 408_000, tzinfo=UTC)

TASK_ID: Final = item_id(KIND, Slot(minute=instants.minute_of(_AT), shard=3), bytes(range(40, 50)))


def answers() -> dict[str, Any]:
    """Returns an example for each schema, by its name."""
    pending, done = _task(), _done()
    cancelled = task_requests.cancel(pending, now=_CREATED + timedelta(minutes=5))
    return {
        "Task": tasks.of(pending),
        "TaskWithPayload": {**tasks.of(done), "payload": PAYLOAD},
        "CancelledTask": {"success": True, **tasks.of(cancelled.after if cancelled else pending)},
        "TaskList": {"tasks": [tasks.of(done)], "next_cursor": None, "partial": False},
        "BatchAnswer": {"results": [{"index": 0, "task": tasks.of(pending)}]},
        "Health": {"status": "ok"},
        **run_examples.answers(QUEUE),
        **flow_examples.answers(),
        **overview_examples.answers(),
        **payment_examples.answers(),
    }


def _task() -> Task:
    return task_requests.register(
        id=TASK_ID,
        tenant="demo",
        due_at=_AT,
        now=_CREATED,
        template=Template(
            destination=Destination(type="sqs", address=QUEUE), payload=Payload(text='{"order":4711}')
        ),
    )


def _done() -> Task:
    task = _task()
    began_at = _AT + timedelta(milliseconds=9)
    claimed = verdicts.claim(
        task,
        Due.of(task),
        now=began_at,
        lease=timedelta(seconds=40),
        holder="example",
        repeated=False,
        why=Via.SWEEP,
    )
    assert isinstance(claimed, transitions.Transition)  # noqa: S101 (it was due)
    return transitions.succeed(
        claimed.after, now=began_at + timedelta(milliseconds=31), why="delivered"
    ).after
