"""What a function says about itself: one structured line a decision, one metrics line a batch.

The only dimension is the function's name, which Lambda itself sets; tenants and items are never dimensions.
"""

import os
from collections.abc import Mapping

from aws_lambda_powertools import Logger, Metrics

from postdate.runtime.metric import Metric

_FUNCTION = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "postdate")

logger = Logger(service=_FUNCTION, utc=True, use_rfc3339=True)
metrics = Metrics(namespace="Postdate", service=_FUNCTION)


def emit(metric: Metric, value: float = 1) -> None:
    """Adds one value to the line of metrics that the function writes at its end."""
    metrics.add_metric(name=metric.name, unit=metric.unit.value, value=value)


def emit_all(values: Mapping[Metric, float]) -> None:
    """Emits each value that is not 0, and a 0 only of metrics that are always emitted."""
    for metric, value in values.items():
        if value or metric.zeros:
            emit(metric, value)


def note(name: str, value: object) -> None:
    """Adds a field to the line of metrics; it is no metric and no dimension, so it may take any number of values."""
    metrics.add_metadata(key=name, value=value)
