"""Looks at queues of dead letters, over a client that answers as SQS may."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from botocore.exceptions import EndpointConnectionError

from postdate.domain.errors import Unavailable
from postdate.runtime.dead_letters import SqsLetters


class Sqs:
    """A queue whose only letter lies on a server that short looks do not ask."""

    def __init__(self) -> None:
        self.left = 1
        self.waits: list[int] = []
        self.counts = {"ApproximateNumberOfMessages": "3", "ApproximateNumberOfMessagesNotVisible": "2"}

    def receive_message(self, **asked: Any) -> dict[str, Any]:
        self.waits.append(asked["WaitTimeSeconds"])
        if not asked["WaitTimeSeconds"] or not self.left:
            return {}
        self.left -= 1
        message = {
            "MessageId": "m-1",
            "ReceiptHandle": "r-1",
            "Body": "no message of ours",
            "Attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1800000000000"},
        }
        return {"Messages": [message]}

    def get_queue_attributes(self, **asked: Any) -> dict[str, Any]:
        return {"Attributes": {name: self.counts[name] for name in asked["AttributeNames"]}}


def test_a_patient_look_asks_all_servers_before_it_ends() -> None:
    sqs = Sqs()
    (letter,) = SqsLetters(url="u", client=cast(Any, sqs), wait_seconds=1).look(10)
    assert (letter.id, letter.sent_at) == ("m-1", datetime(2027, 1, 15, 8, tzinfo=UTC))
    assert sqs.waits == [0, 1, 0, 1]


def test_another_look_does_not_wait() -> None:
    sqs = Sqs()
    assert SqsLetters(url="u", client=cast(Any, sqs)).look(10) == []
    assert sqs.waits == [0, 0]


def test_hidden_letters_count() -> None:
    assert SqsLetters(url="u", client=cast(Any, Sqs())).count() == 5


def test_letters_that_cannot_be_counted_are_a_reason_to_try_again() -> None:
    class Broken(Sqs):
        def get_queue_attributes(self, **asked: Any) -> dict[str, Any]:
            raise EndpointConnectionError(endpoint_url="https://sqs")

    with pytest.raises(Unavailable):
        SqsLetters(url="u", client=cast(Any, Broken())).count()
