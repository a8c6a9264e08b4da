"""The test bed of a benchmark: its own local stack and a webhook receiver, both removed at the end."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from bench.destinations import Destination, SqsDestination, WebhookDestination, receiver
from cli.client import Client
from cli.local.own import environment, own
from cli.local.stack import Stack


@dataclass(frozen=True, kw_only=True, slots=True)
class Bed:
    """`dynamodb` and `sqs` may do everything; they are safe to share between threads. `environment` is what the
    functions are told."""

    stack: Stack
    dynamodb: Any
    sqs: Any
    queue: SqsDestination
    webhook: WebhookDestination
    environment: Mapping[str, str]
    logs: Any

    @property
    def destinations(self) -> tuple[Destination, ...]:
        return self.queue, self.webhook

    def client(self) -> Client:
        """The HTTP API, for one thread."""
        return Client(self.stack.api_url, self.stack.api_key)

    def admin(self) -> Client:
        """The same with the key that may also open accounts and fund them."""
        return Client(self.stack.api_url, self.stack.admin_key)


@contextmanager
def made() -> Iterator[Bed]:
    with own("benchmark") as (_, stack), receiver() as webhook:
        sqs = _bare_client("sqs")
        yield Bed(
            stack=stack,
            dynamodb=_bare_client("dynamodb"),
            sqs=sqs,
            queue=SqsDestination(sqs, stack.destination_queue_url),
            webhook=webhook,
            environment=environment("api", "run-tasks"),
            logs=_bare_client("logs"),
        )


def _bare_client(service: str) -> Any:
    """Without botocore's check of what is sent, which is a third of a call here and nothing to the engine."""
    waits = Config(connect_timeout=2, read_timeout=10, parameter_validation=False)
    return boto3.Session().client(service, config=waits)
