"""Samples from the lines that functions log: CloudWatch's embedded metric format."""

import json
from typing import Any

from infra.watch.samples import Samples


def add(samples: Samples, line: str) -> None:
    """Adds what the line holds. A line that is no line of metrics holds nothing."""
    try:
        told = json.loads(line)
        described = told["_aws"]
    except (ValueError, KeyError, TypeError):
        return
    for directive in described["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = tuple((name, str(told[name])) for name in names)
            for metric in directive["Metrics"]:
                for value in _values(told[metric["Name"]]):
                    samples.add(
                        directive["Namespace"],
                        metric["Name"],
                        dimensions,
                        at=described["Timestamp"] / 1000,
                        value=value,
                    )


def _values(told: Any) -> list[float]:
    return list(told) if isinstance(told, list) else [told]
