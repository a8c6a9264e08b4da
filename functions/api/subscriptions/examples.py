"""Examples of subscriptions and their deliveries, for the API's description."""

from typing import Any, Final

FORMS: Final[dict[str, Any]] = {
    "payments": {
        "summary": "Payments that ended",
        "value": {
            "target": {"type": "webhook", "url": "https://shop.example/hooks/payments"},
            "types": ["payment.completed", "payment.failed"],
            "filter": {"metadata": {"shop": "north"}},
            "description": "billing",
        },
    },
    "dead": {
        "summary": "Tasks that died, in no order",
        "value": {
            "target": {"type": "webhook", "url": "https://shop.example/hooks/dead"},
            "types": ["task.dead", "run.dead"],
            "ordered": False,
        },
    },
}
SUBSCRIPTION: Final[dict[str, Any]] = {
    "subscription_id": "sub_3m9c5q7h1k2n8p4r",
    "status": "ACTIVE",
    "reason": None,
    "target": {
        "type": "webhook",
        "url": "https://shop.example/hooks/payments",
        "method": "POST",
        "headers": {},
    },
    "types": ["payment.completed", "payment.failed"],
    "filter": {"metadata": {"shop": "north"}},
    "ordered": True,
    "description": "billing",
    "created_at": "2026-11-18T09:30:12.408Z",
    "changed_at": "2026-11-18T09:30:12.408Z",
    "paused_at": None,
    "version": 1,
}
DELIVERY: Final[dict[str, Any]] = {
    "run_id": "dlv_0wgzfs02c9q7h1k2n8p4r3m5",
    "planned_at": "2026-11-18T10:05:00.041Z",
    "started_at": "2026-11-18T10:05:00.262Z",
    "finished_at": "2026-11-18T10:05:00.291Z",
    "lateness_ms": 72,
    "status": "SUCCEEDED",
    "reason": None,
    "task_id": "sub_3m9c5q7h1k2n8p4r",
    "attempts": [
        {
            "number": 1,
            "worker_id": "5a1f8c30-7d2e",
            "lease_until": "2026-11-18T10:05:40.262Z",
            "started_at": "2026-11-18T10:05:00.262Z",
            "finished_at": "2026-11-18T10:05:00.291Z",
            "outcome": "SUCCEEDED",
            "http_status": 204,
            "error": None,
        }
    ],
    "next_attempt_at": None,
    "token": 1,
    "lease_until": None,
    "version": 3,
    "subscription_id": "sub_3m9c5q7h1k2n8p4r",
    "event_id": "evt_2_pay_0wgzfs020000000000000001",
}
TEST_DELIVERY: Final = {
    **DELIVERY,
    **dict.fromkeys(("started_at", "finished_at", "lateness_ms", "event_id")),
    "status": "PENDING",
    "attempts": [],
    "next_attempt_at": "2026-11-18T10:05:00.041Z",
    "token": 0,
    "version": 1,
}
