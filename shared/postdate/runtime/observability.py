"""Log lines and metrics of the functions: one structured line a decision, one metrics line a batch.

Lambda sets the dimension of the function's name. Tenants and items are never dimensions.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import EphemeralMetrics

from postdate.runtime.metric import METRICS, Metric

_FUNCTION = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "postdate")

logger = Logger(service=_FUNCTION, utc=True, use_rfc3339=True)
metrics = Metrics(namespace="Postdate", service=_FUNCTION)
_COUNTS: Final = frozenset(metric.name for metric in METRICS if metric.in_logs)


def emit(metric: Metric, value: float = 1) -> None:
    """Adds one value to the line of metrics that the function writes at its end."""
    provider = metrics.provider
    if metric.in_logs:
        provider.metadata_set[metric.name] = provider.metadata_set.get(metric.name, 0) + value
        return
    metrics.add_metric(name=metric.name, unit=metric.unit.value, value=value)
    if not provider.metric_set:
        # With 100 values a line is full and was written, counts included: the next line begins at 0.
        for name in _COUNTS & provider.metadata_set.keys():
            del provider.metadata_set[name]


def emit_of_tier(tier: str, values: Mapping[Metric, Iterable[float]]) -> None:
    """Writes a line of metrics for one tier of tenants."""
    told = EphemeralMetrics(namespace="Postdate", service=_FUNCTION)
    told.add_dimension(name="tier", value=tier)
    for metric, numbers in values.items():
        for number in numbers:
            told.add_metric(name=metric.name, unit=metric.unit.value, value=number)
    if told.metric_set:
        told.flush_metrics()


def emit_all(values: Mapping[Metric, float]) -> None:
    """Emits each value that is not 0, and a 0 only of metrics that are always emitted."""
    for metric, value in values.items():
        if value or metric.zeros:
            emit(metric, value)


def note(name: str, value: object) -> None:
    """Adds a field to the line of metrics; it is no metric and no dimension, so it may take any number of values."""
    metrics.add_metadata(key=name, value=value)
