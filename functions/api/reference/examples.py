"""Examples that are true: requests that the forms take, and answers made by what makes them."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.reference import payment_examples, run_examples
from functions.api.tasks.view import view
from postdate.domain import instants, transitions
from postdate.domain.due import Due, Via
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import Slot, item_id
from postdate.domain.task import KIND, Destination, Payload, Task

_AT: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
_CREATED: Final = datetime(2026, 11, 18, 9, 30, 12, 408_000, tzinfo=UTC)
_QUEUE: Final = "https://sqs.eu-central-1.amazonaws.com/111122223333/postdate-destination-mail"
_PAYLOAD: Final = {"order": 4711}

TASK_ID: Final = item_id(KIND, Slot(minute=instants.minute_of(_AT), shard=3), bytes(range(40, 50)))

_TO_QUEUE: Final[dict[str, Any]] = {
    "run_at": "2026-11-18T10:05:00Z",
    "target": {"type": "sqs", "queue_url": _QUEUE},
    "payload": _PAYLOAD,
}
_TO_WEBHOOK: Final[dict[str, Any]] = {
    "delay_seconds": 3600,
    "target": {
        "type": "webhook",
        "url": "https://hooks.example.com/orders",
        "headers": {"Authorization": "Bearer of-the-receiver"},
    },
    "payload": _PAYLOAD,
    "retry": {"max_attempts": 8, "max_seconds": 3600},
    "timeout_seconds": 10,
    "name": "remind",
    "tags": ["order"],
}
_DAILY: Final[dict[str, Any]] = {
    "cron": "30 8 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "jitter_seconds": 60,
    "target": {"type": "sqs", "queue_url": _QUEUE},
    "payload": {"report": "open orders"},
    "ack": "explicit",
    "timeout_seconds": 600,
    "name": "open-orders",
}
REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "TaskForm": {
        "queue": {"summary": "A message to a queue, at an instant", "value": _TO_QUEUE},
        "webhook": {"summary": "A webhook, an hour from now", "value": _TO_WEBHOOK},
        "cron": {"summary": "A message on each working day, on the clocks of Berlin", "value": _DAILY},
    },
    "BatchForm": {
        "two": {
            "summary": "Two tasks, one with a key",
            "value": {"tasks": [_TO_QUEUE | {"idempotency_key": "order-4711"}, _TO_WEBHOOK]},
        }
    },
    "ChangeForm": {
        "later": {"summary": "Another instant", "value": {"run_at": "2026-11-18T18:00:00Z"}},
        "payload": {"summary": "Another payload", "value": {"payload": {"order": 4712}}},
        "flow": {
            "summary": "Held back",
            "value": {"flow_control": {"key": "mail", "rate": 10, "parallelism": 3}},
        },
        "plan": {"summary": "Of one that recurs: another plan", "value": {"cron": "0 9 * * MON-FRI"}},
        "end": {"summary": "Of one that recurs: no end", "value": {"end_at": None}},
        "free": {"summary": "Of one that recurs: no longer held back", "value": {"flow_control": None}},
    },
    "PauseForm": {"why": {"summary": "With a reason", "value": {"reason": "stocktaking"}}},
    "BackfillForm": {
        "day": {
            "summary": "A day",
            "value": {"from": "2026-11-17T00:00:00Z", "to": "2026-11-17T23:59:59Z"},
        }
    },
    "PreviewForm": {
        "cron": {
            "summary": "Around a change of clocks",
            "value": {
                "cron": "30 2 * * *",
                "timezone": "Europe/Berlin",
                "from": "2026-10-24T00:00:00Z",
                "count": 3,
            },
        },
        "task": {"summary": "Of a task", "value": {"task_id": TASK_ID}},
    },
    "JobForm": {
        "once": {
            "summary": "A message to a queue, at an instant",
            "value": {
                "runAt": "2026-11-18T10:05:00Z",
                "payload": _PAYLOAD,
                "idempotencyKey": "order-4711",
                "target": {"type": "sqs", "queueUrl": _QUEUE},
            },
        },
        "default": {
            "summary": "To the tenant's default target, by reference",
            "value": {
                "runAt": "2026-11-18T10:05:00Z",
                "payloadRef": "s3://payloads/demo/order-4711",
                "idempotencyKey": "order-4712",
            },
        },
        "cron": {
            "summary": "Each weekday morning",
            "value": {"cron": "30 8 * * MON-FRI", "timezone": "Europe/Berlin", "retry": {"maxAttempts": 3}},
        },
    },
}


def answers() -> dict[str, Any]:
    """One of each, by the name of its schema."""
    pending, done = _task(), _done()
    cancelled = transitions.cancel(pending, now=_CREATED + timedelta(minutes=5))
    return {
        "Task": view(pending),
        "TaskWithPayload": {**view(done), "payload": _PAYLOAD},
        "CancelledTask": {"success": True, **view(cancelled.after if cancelled else pending)},
        "TaskList": {"tasks": [view(done)], "next_cursor": None, "partial": False},
        "BatchAnswer": {"results": [{"index": 0, "task": view(pending)}]},
        "Health": {"status": "ok"},
        **run_examples.answers(_QUEUE),
        **payment_examples.answers(),
    }


def _task() -> Task:
    return transitions.register(
        id=TASK_ID,
        tenant="demo",
        due_at=_AT,
        now=_CREATED,
        destination=Destination(type="sqs", address=_QUEUE),
        payload=Payload(text='{"order":4711}'),
        retry=RetryPolicy(),
        timeout_seconds=30,
        name=None,
        tags=(),
    )


def _done() -> Task:
    task = _task()
    began_at = _AT + timedelta(milliseconds=9)
    claimed = transitions.claim(
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
