"""Fields that count in a request's fingerprint although the request leaves them out, each with the value that counts.

The first fingerprints hashed all fields with their defaults, and keys of payments are kept for ever. A request that is
repeated years later must get the fingerprint that it got then. So these values never change, whatever a default
becomes, and nothing is added: a later field counts only where it differs from its default.
"""

from collections.abc import Mapping
from typing import Any, Final

_RETRY: Final[dict[str, Any]] = {
    "max_attempts": 5,
    "initial_seconds": 5.0,
    "multiplier": 2.0,
    "max_seconds": 900.0,
    "jitter": True,
}
_TASK: Final[dict[str, Any]] = {
    "run_at": None,
    "delay_seconds": None,
    "cron": None,
    "timezone": "UTC",
    "start_at": None,
    "end_at": None,
    "max_runs": None,
    "jitter_seconds": 0,
    "overlap": "skip",
    "catch_up": "latest",
    "catch_up_window_seconds": 86_400,
    "payload": None,
    "payload_ref": None,
    "retry": _RETRY,
    "timeout_seconds": 30,
    "ack": "response",
    "expires_after_seconds": None,
    "flow_control": None,
    "name": None,
    "tags": [],
}
_PAYMENT: Final[dict[str, Any]] = {
    "delay_seconds": None,
    "scheduled_time": None,
    "description": None,
    "funding": "reserve",
    "metadata": {},
}
_OF_FORMS: Final[dict[str, Mapping[str, Any]]] = {
    "AdjustmentForm": {"amount": None, "to_journal": None},
    "FlowControlForm": {"rate": None, "period_seconds": 1, "parallelism": None},
    "PaymentForm": _PAYMENT,
    "RetryForm": _RETRY,
    "TaskForm": _TASK,
    "WebhookForm": {"method": "POST", "headers": {}},
}


def hashed_defaults(form: type) -> Mapping[str, Any]:
    """Returns the defaults of the form, or of the form that it extends."""
    return next((_OF_FORMS[each.__name__] for each in form.__mro__ if each.__name__ in _OF_FORMS), {})
