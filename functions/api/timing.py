"""The timed requests, and the metric of each."""

import re
from typing import Final

from postdate.runtime import metric
from postdate.runtime.metric import Metric

_ITEMS: Final = "/(?:api/v1/(?:payments|tasks)|v1/jobs)"
_TIMED: Final = (
    (re.compile(r"POST (?:/api/v1/payments/schedule|/api/v1/tasks|/v1/jobs)"), metric.REGISTER_TIME),
    (re.compile(rf"DELETE {_ITEMS}/[^/]+(?:/cancel)?|POST {_ITEMS}/[^/]+/cancel"), metric.CANCEL_TIME),
    (re.compile(rf"GET {_ITEMS}/[^/]+"), metric.STATUS_TIME),
)


def of(method: str, path: str) -> Metric | None:
    """Batches and lists are not timed: their time depends on their size."""
    asked = f"{method} {path}"
    return next((timed for pattern, timed in _TIMED if pattern.fullmatch(asked)), None)
