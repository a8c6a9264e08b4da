"""Packets sent are packets received, each held back until a second before it is due."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from postdate.domain.due import DELAY_MAX, PACKET_ITEMS_MAX, Due, Packet, Via, pack
from postdate.domain.errors import Unavailable
from postdate.runtime.queue import MemoryQueue, Queue, SqsQueue, received
from tests.boundary import Boundary, answered, lost, refused, unreachable
from tests.contract.conftest import OnAws
from tests.contract.examples import Examples

SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Still:
    """A clock that stands."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def sleep_until(self, instant: datetime) -> None:
        raise AssertionError("nobody sleeps here")


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """A queue, and what was put into it: packets as a receiver reads them, with their delays."""

    queue: Queue
    sent: Callable[[], list[tuple[Packet, timedelta]]]


@pytest.fixture
def sqs_queue(on_aws: OnAws, now: datetime) -> SqsQueue:
    url = on_aws.sqs.create_queue(QueueName=f"contract-{now:%d-%H}")["QueueUrl"]
    return SqsQueue(url=url, client=on_aws.sqs, clock=Still(now))


@pytest.fixture(params=["memory", "aws"])
def watched(request: pytest.FixtureRequest, now: datetime) -> Watched:
    if request.param == "memory":
        memory = MemoryQueue(Still(now))
        return Watched(queue=memory, sent=lambda: [_read_again(*each) for each in memory.sent])
    queue: SqsQueue = request.getfixturevalue("sqs_queue")
    boundary: Boundary = request.getfixturevalue("boundary")
    return Watched(queue=queue, sent=lambda: [_sent(entry) for entry in _entries(boundary)])


def _entries(boundary: Boundary) -> list[dict[str, Any]]:
    return [entry for asked in boundary.asked("SendMessageBatch") for entry in asked["Entries"]]


def _sent(entry: dict[str, Any]) -> tuple[Packet, timedelta]:
    return _read(entry["MessageBody"]), timedelta(seconds=entry["DelaySeconds"])


def _read_again(packet: Packet, delay: timedelta) -> tuple[Packet, timedelta]:
    """The message as a receiver sees it, which does not hold its delay."""
    return replace(packet, not_before=None), delay


def _read(body: str) -> Packet:
    about = {"messageId": "1", "receiptHandle": "r", "attributes": {"ApproximateReceiveCount": "1"}}
    return received({"body": body, **about}).packet


def packets(examples: Examples, number: int) -> list[Packet]:
    dues = (Due.of(task) for task in examples.tasks(number))
    return [Packet(tenant="acme", via=Via.SWEEP, dues=(due,)) for due in dues]


def test_packets_arrive_whole_and_in_order(watched: Watched, examples: Examples, now: datetime) -> None:
    packed = pack((("größe 🐈", Due.of(task)) for task in examples.tasks(60)), Via.AUDIT)
    many = [replace(packet, seen=place == 1) for place, packet in enumerate(packed)]
    assert [len(packet.dues) for packet in many] == [PACKET_ITEMS_MAX, PACKET_ITEMS_MAX, 10]
    watched.queue.send(iter(many))
    assert [packet for packet, _ in watched.sent()] == many


@pytest.mark.parametrize("number", [0, 1, 10, 11, 25])
def test_any_number_of_packets_is_sent(
    watched: Watched, examples: Examples, now: datetime, number: int
) -> None:
    sent = packets(examples, number)
    watched.queue.send(sent)
    assert sorted((packet for packet, _ in watched.sent()), key=str) == sorted(sent, key=str)


@pytest.mark.parametrize(
    ("due_in", "delay"),
    [
        (-timedelta(hours=3), timedelta(0)),
        (SECOND, timedelta(0)),
        (1.999 * SECOND, timedelta(0)),
        (2 * SECOND, SECOND),
        (7.5 * SECOND, 6 * SECOND),
        (DELAY_MAX + SECOND, DELAY_MAX),
        (timedelta(days=300), DELAY_MAX),
    ],
)
def test_a_packet_is_held_back_until_a_second_before_its_first_item_is_due(
    watched: Watched, examples: Examples, now: datetime, due_in: timedelta, delay: timedelta
) -> None:
    dues = (Due.of(examples.task(due_at=now + due_in + extra * SECOND)) for extra in (3, 0, 9))
    watched.queue.send([Packet(tenant="acme", via=Via.SWEEP, dues=tuple(dues))])
    assert [held for _, held in watched.sent()] == [delay]


def test_a_packet_that_waits_for_a_lease_is_held_back_until_then(
    watched: Watched, examples: Examples, now: datetime
) -> None:
    (packet,) = packets(examples, 1)
    watched.queue.send([replace(packet, not_before=now + 40 * SECOND)])
    assert watched.sent() == [(packet, 40 * SECOND)]


def test_the_queue_holds_the_packets_that_were_sent(
    sqs_queue: SqsQueue, on_aws: OnAws, examples: Examples, now: datetime
) -> None:
    sent = packets(examples, 11)
    sqs_queue.send(sent)
    url = on_aws.sqs.get_queue_url(QueueName=f"contract-{now:%d-%H}")["QueueUrl"]
    found: list[Packet] = []
    while messages := on_aws.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found += [_read(message["Body"]) for message in messages]
    assert sorted(found, key=str) == sorted(sent, key=str)


def test_only_what_the_queue_did_not_take_is_sent_again(
    sqs_queue: SqsQueue, boundary: Boundary, examples: Examples, now: datetime
) -> None:
    not_taken = {"Code": "InternalError", "SenderFault": False}
    boundary.fail(
        "SendMessageBatch",
        answered({"Successful": [], "Failed": [{"Id": "1", **not_taken}, {"Id": "4", **not_taken}]}),
    )
    sent = packets(examples, 5)
    sqs_queue.send(sent)
    first, second = boundary.asked("SendMessageBatch")
    assert second["Entries"] == [first["Entries"][1], first["Entries"][4]]


def test_a_queue_that_goes_on_refusing_is_unavailable(
    sqs_queue: SqsQueue, boundary: Boundary, examples: Examples, now: datetime
) -> None:
    failed = {"Id": "0", "Code": "InternalError", "SenderFault": False}
    boundary.fail("SendMessageBatch", *[answered({"Successful": [], "Failed": [failed]})] * 9)
    with pytest.raises(Unavailable):
        sqs_queue.send(packets(examples, 1))
    assert len(boundary.asked("SendMessageBatch")) == 3


def test_of_many_packets_not_one_is_left_out_unsaid(
    sqs_queue: SqsQueue, boundary: Boundary, examples: Examples
) -> None:
    sent = packets(examples, 45)
    unlucky = sent[37].dues[0].id
    boundary.fail("SendMessageBatch", *[unreachable] * 9, when=lambda call: call.names(unlucky))
    with pytest.raises(Unavailable):
        sqs_queue.send(sent)
    boundary.clear()
    sqs_queue.send(sent)
    assert len(_entries(boundary)) == 45


@pytest.mark.parametrize(
    "fault",
    [unreachable, lost, refused("RequestThrottled"), refused("InternalFailure", 500)],
    ids=["unreachable", "lost", "throttled", "broken"],
)
def test_a_queue_that_does_not_answer_is_unavailable_and_one_that_comes_back_is_not(
    sqs_queue: SqsQueue, boundary: Boundary, examples: Examples, now: datetime, fault: Any
) -> None:
    boundary.fail("SendMessageBatch", fault, fault)
    sqs_queue.send(packets(examples, 1))
    boundary.fail("SendMessageBatch", *[fault] * 50)
    with pytest.raises(Unavailable):
        sqs_queue.send(packets(examples, 1))
