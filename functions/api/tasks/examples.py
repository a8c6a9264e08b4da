"""Bodies of requests about tasks, as the API's description shows them."""

from typing import Any, Final

QUEUE: Final = "https://sqs.eu-central-1.amazonaws.com/111122223333/postdate-destination-mail"
PAYLOAD: Final = {"order": 4711}
_TO_QUEUE: Final[dict[str, Any]] = {
    "run_at": "2026-11-18T10:05:00Z",
    "target": {"type": "sqs", "queue_url": QUEUE},
    "payload": PAYLOAD,
}
_TO_WEBHOOK: Final[dict[str, Any]] = {
    "delay_seconds": 3600,
    "target": {
        "type": "webhook",
        "url": "https://hooks.example.com/orders",
        "headers": {"Authorization": "Bearer of-the-receiver"},
    },
    "payload": PAYLOAD,
    "retry": {"max_attempts": 8, "max_seconds": 3600},
    "timeout_seconds": 10,
    "name": "remind",
    "tags": ["order"],
}
_WEEKDAYS: Final[dict[str, Any]] = {
    "cron": "30 8 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "jitter_seconds": 60,
    "target": {"type": "sqs", "queue_url": QUEUE},
    "payload": {"report": "open orders"},
    "ack": "explicit",
    "timeout_seconds": 600,
    "name": "open-orders",
}
REGISTER: Final = {
    "queue": {"summary": "A message to a queue, at an instant", "value": _TO_QUEUE},
    "webhook": {"summary": "A webhook, an hour from now", "value": _TO_WEBHOOK},
    "cron": {"summary": "A message on each weekday, by the clocks of Berlin", "value": _WEEKDAYS},
}
BATCH: Final = {
    "two": {
        "summary": "Two tasks, one with a key",
        "value": {"tasks": [_TO_QUEUE | {"idempotency_key": "order-4711"}, _TO_WEBHOOK]},
    }
}
CHANGE: Final = {
    "later": {"summary": "Another instant", "value": {"run_at": "2026-11-18T18:00:00Z"}},
    "payload": {"summary": "Another payload", "value": {"payload": {"order": 4712}}},
    "flow": {
        "summary": "With flow control",
        "value": {"flow_control": {"key": "mail", "rate": 10, "parallelism": 3}},
    },
    "plan": {"summary": "Of a recurring task: another cron", "value": {"cron": "0 9 * * MON-FRI"}},
    "end": {"summary": "Of a recurring task: no end", "value": {"end_at": None}},
    "free": {"summary": "Of a recurring task: no flow control", "value": {"flow_control": None}},
}
