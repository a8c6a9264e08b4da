"""What a function says about itself: one structured line a decision, one metrics line a batch.

The only dimension is the function's name, which Lambda itself sets; tenants and items are never dimensions.
"""

import os

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

_FUNCTION = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "postdate")

logger = Logger(service=_FUNCTION, utc=True, use_rfc3339=True)
metrics = Metrics(namespace="Postdate", service=_FUNCTION)


def count(name: str, value: float = 1) -> None:
    metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)


def note(name: str, value: object) -> None:
    """Adds a field to the line of metrics; it is no metric and no dimension, so it may take any number of values."""
    metrics.add_metadata(key=name, value=value)


def milliseconds(name: str, value: float) -> None:
    metrics.add_metric(name=name, unit=MetricUnit.Milliseconds, value=value)
