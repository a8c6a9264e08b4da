"""Looks at the overview of the service with nothing remembered from the look before; `python -m bench.looking`.

A process of its own, because it shortens what the function api remembers to nothing. Each look then asks CloudWatch
for the ages of the queues, which a deployed function does once a minute.
"""

import importlib
import json
import sys
import time
from collections import Counter
from datetime import timedelta
from typing import Any, Final

import boto3
import botocore.handlers

from bench.deployed import Functions

OVERVIEW: Final = "/api/v1/ops/overview"
AGES: Final = "GetMetricData"
KEPT: Final = ("AGES_KEPT", "ALARMS_KEPT", "CALENDAR_KEPT", "DEPTHS_KEPT", "RECONCILIATION_KEPT")
_LOOK: Final = "functions.api.overview.look"
_WARM_UP: Final = 10


def forget() -> None:
    """Keeps nothing from one look to the next. The function's other modules read these names when they are imported,
    so they come later."""
    look = importlib.import_module(_LOOK)
    for name in KEPT:
        if getattr(look, name) is None:
            raise RuntimeError(f"{name} is empty")
        setattr(look, name, timedelta(0))


def main() -> None:
    asked = json.load(sys.stdin)
    calls: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        calls[model.name] += 1

    every_client: list[Any] = botocore.handlers.BUILTIN_HANDLERS
    every_client.append(("before-call", count))
    forget()
    functions = Functions(("api",), tenant=asked["tenant"], settings={})
    for _ in range(_WARM_UP):
        functions.get(OVERVIEW, asked["key"])
    calls.clear()
    took_ms = [_took_ms(lambda: functions.get(OVERVIEW, asked["key"])) for _ in range(asked["looks"])]
    counted = dict(calls)
    cloudwatch = boto3.Session().client("cloudwatch")
    bare_ms = [_took_ms(lambda: cloudwatch.get_metric_data(**_asked())) for _ in range(asked["looks"])]
    print(json.dumps({"took_ms": took_ms, "bare_ms": bare_ms, "calls": counted}))


def _took_ms(call: Any) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def _asked() -> dict[str, Any]:
    """One metric of one queue, the least that can be asked for."""
    metric = {"Namespace": "AWS/SQS", "MetricName": "ApproximateAgeOfOldestMessage", "Dimensions": []}
    now = int(time.time())
    return {
        "MetricDataQueries": [{"Id": "q", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}],
        "StartTime": now - 300,
        "EndTime": now,
    }


if __name__ == "__main__":
    main()
