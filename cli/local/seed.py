"""What a fresh local stack gets beside its tenants: a queue to send tasks to."""

from typing import Final

from cli.local import aws

DESTINATION: Final = "postdate-local-destination"


def destination_queue() -> str:
    return str(aws.client("sqs").create_queue(QueueName=DESTINATION)["QueueUrl"])
