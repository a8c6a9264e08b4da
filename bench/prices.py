"""Prices of the counted units and requests."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# Dollars a million in us-east-1, from the public price pages of DynamoDB (on demand, standard tables), SQS (standard
# queues, after the free million) and Lambda (requests), as of November 2026. Not in it: how long functions run, the
# HTTP API's requests, logs and storage.
DOLLARS_A_MILLION: Final[Mapping[str, float]] = MappingProxyType(
    {
        "write_units": 0.625,
        "read_units": 0.125,
        "sqs_requests": 0.40,
        "lambda_requests": 0.20,
    }
)


def dollars_a_million(an_item: Mapping[str, float]) -> float:
    """The price of a million items of which each takes this much."""
    return sum(an_item.get(name, 0.0) * price for name, price in DOLLARS_A_MILLION.items())
