"""Destinations of the benchmark's tasks, with the arrivals and their instants."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, Protocol

from bench.outcome import Arrival
from bench.receiver import DOWN, HANGS, ID_HEADER, PATH, UP
from cli.client import Client
from cli.failure import Failure
from cli.local.once import ROOT

_HELD_SECONDS: Final = 600


class Destination(Protocol):
    name: str
    target: dict[str, str]

    def clear(self) -> None: ...

    def count(self) -> int:
        """Number of arrivals since the last clear, found with as little work as possible."""

    def arrivals(self) -> list[Arrival]: ...


class SqsDestination:
    """Asked for what it holds when all is over: receiving meanwhile would cost the engine as much as sending does."""

    name = "SQS"

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self.url = url
        self.target = {"type": "sqs", "queue_url": url}

    def clear(self) -> None:
        self._client.purge_queue(QueueUrl=self.url)

    def count(self) -> int:
        names = ["ApproximateNumberOfMessages"]
        answer = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)
        return int(answer["Attributes"][names[0]])

    def arrivals(self) -> list[Arrival]:
        """By the queue's own `SentTimestamp`."""
        found: list[Arrival] = []
        while messages := self._received():
            found += [
                Arrival(
                    message["MessageAttributes"][ID_HEADER]["StringValue"],
                    float(message["Attributes"]["SentTimestamp"]),
                )
                for message in messages
            ]
            entries = [
                {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]}
                for place, message in enumerate(messages)
            ]
            self._client.delete_message_batch(QueueUrl=self.url, Entries=entries)
        return found

    def _received(self) -> list[dict[str, Any]]:
        answer = self._client.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=_HELD_SECONDS,
            WaitTimeSeconds=0,
            MessageSystemAttributeNames=["SentTimestamp"],
            MessageAttributeNames=[ID_HEADER],
        )
        return list(answer.get("Messages", ()))


class WebhookDestination:
    name = "webhook"

    def __init__(self, port: int) -> None:
        self.port = port
        self.target = {"type": "webhook", "url": f"http://127.0.0.1:{port}{PATH}"}
        self.hanging_target = {"type": "webhook", "url": f"http://127.0.0.1:{port}{HANGS}"}
        self._client = Client(f"http://127.0.0.1:{port}")

    def clear(self) -> None:
        self._client.delete(PATH).expect(204)

    def count(self) -> int:
        return len(self.arrivals())

    def arrivals(self) -> list[Arrival]:
        """By the receiver's clock, at the first byte of each call."""
        return [Arrival(*noted) for noted in self._client.get(PATH).expect(200)]

    def goes_down(self) -> None:
        """From now on it answers 503."""
        self._client.send("PUT", DOWN).expect(204)

    def comes_back(self) -> None:
        self._client.send("PUT", UP).expect(204)

    def close(self) -> None:
        self._client.close()


@contextmanager
def receiver() -> Iterator[WebhookDestination]:
    """In a group of its own, so that Ctrl-C reaches it through us."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.receiver"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None  # noqa: S101 (asked for)
        port = process.stdout.readline().strip()
        if not port:
            raise Failure("The webhook receiver did not start.")
        with closing(WebhookDestination(int(port))) as destination:
            yield destination
    finally:
        process.communicate()
