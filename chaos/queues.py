"""Reading queues from outside: what waits in them, and everything there is."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from json import loads
from typing import Any, Final

from chaos.seen import Arrival, Letter

_HELD_SECONDS: Final = 600
_COUNTS: Final = ("", "NotVisible", "Delayed")


def waiting(sqs: Any, url: str) -> int:
    """Visible, hidden and delayed."""
    names = [f"ApproximateNumberOfMessages{which}" for which in _COUNTS]
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(counts[name]) for name in names)


def letters(sqs: Any, url: str) -> list[Letter]:
    return [
        Letter(id, version)
        for message in _drained(sqs, url)
        for id, version, _ in loads(message["Body"])["dues"]
    ]


def arrivals(sqs: Any, url: str) -> list[Arrival]:
    """By the queue's own `SentTimestamp`, in the order in which they came."""
    found = [_arrival(message) for message in _drained(sqs, url)]
    return sorted(found, key=lambda arrival: arrival.at_ms)


def _drained(sqs: Any, url: str) -> Iterator[Mapping[str, Any]]:
    while messages := _received(sqs, url):
        yield from messages
        entries = [
            {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]}
            for place, message in enumerate(messages)
        ]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def _received(sqs: Any, url: str) -> list[Mapping[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        VisibilityTimeout=_HELD_SECONDS,
        WaitTimeSeconds=0,
        MessageSystemAttributeNames=["SentTimestamp"],
        MessageAttributeNames=["All"],
    )
    return list(answer.get("Messages", ()))


def _arrival(message: Mapping[str, Any]) -> Arrival:
    told = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    return Arrival(
        task=told["Postdate-Task-Id"],
        run=told["webhook-id"],
        key=told["Idempotency-Key"],
        token=int(told["Postdate-Token"]),
        attempt=int(told["Postdate-Attempt"]),
        planned_at=datetime.fromisoformat(told["Postdate-Planned-At"]).isoformat(),
        at_ms=float(message["Attributes"]["SentTimestamp"]),
    )
