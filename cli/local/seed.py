"""What a fresh local stack gets beside its tenants: a queue and a bus to send tasks to."""

from contextlib import suppress
from typing import Final

from cli.local import aws

DESTINATION: Final = "postdate-local-destination"


def destination_queue() -> str:
    return str(aws.client("sqs").create_queue(QueueName=DESTINATION)["QueueUrl"])


def destination_bus() -> str:
    events = aws.client("events")
    with suppress(events.exceptions.ResourceAlreadyExistsException):
        events.create_event_bus(Name=DESTINATION)
    return DESTINATION
