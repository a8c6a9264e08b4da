"""What a function says about itself: one structured line a decision, one metrics line a batch.

Powertools reads the service's name and the namespace from the environment. Tenants and items are never dimensions.
"""

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

logger = Logger(utc=True, use_rfc3339=True)
metrics = Metrics()


def count(name: str, value: float = 1) -> None:
    metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)


def milliseconds(name: str, value: float) -> None:
    metrics.add_metric(name=name, unit=MetricUnit.Milliseconds, value=value)
