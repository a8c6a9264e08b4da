"""The destinations of a fresh local stack: one of each kind that tenants list."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from cli.local import aws

DESTINATION: Final = "postdate-local-destination"


def destinations() -> dict[str, str]:
    """Makes the destinations that do not exist, and returns all addresses by kind."""
    return {kind: make() for kind, make in _MAKERS.items()}


def _queue() -> str:
    return str(aws.client("sqs").create_queue(QueueName=DESTINATION)["QueueUrl"])


def _bus() -> str:
    events = aws.client("events")
    with suppress(events.exceptions.ResourceAlreadyExistsException):
        events.create_event_bus(Name=DESTINATION)
    return DESTINATION


def _topic() -> str:
    return str(aws.client("sns").create_topic(Name=DESTINATION)["TopicArn"])


_MAKERS: Final[Mapping[str, Callable[[], str]]] = {"sqs": _queue, "eventbridge": _bus, "sns": _topic}
