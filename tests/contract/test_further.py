"""Messages that a worker takes from its queue by itself, on the engine."""

from datetime import datetime, timedelta
from queue import SimpleQueue
from typing import Any

import pytest

from postdate.domain.due import Due, Packet, Via
from postdate.runtime.further import SqsFurther
from postdate.runtime.queue import Received, SqsQueue
from tests.boundary import Boundary, lost, refused
from tests.contract.conftest import OnAws
from tests.contract.examples import Examples
from tests.contract.test_queue import Still

SECOND = timedelta(seconds=1)
VISIBLE_AFTER = 43 * SECOND


@pytest.fixture
def url(on_aws: OnAws, now: datetime, request: pytest.FixtureRequest) -> str:
    name = f"further-{abs(hash(request.node.name))}"
    url: str = on_aws.sqs.create_queue(QueueName=name)["QueueUrl"]
    return url


@pytest.fixture
def further(on_aws: OnAws, url: str) -> SqsFurther:
    return SqsFurther(url=url, client=on_aws.sqs)


def asked(further: SqsFurther) -> list[Received]:
    answers: SimpleQueue[list[Received]] = SimpleQueue()
    further.ask(answers.put, VISIBLE_AFTER)
    return answers.get(timeout=10)


def sent(on_aws: OnAws, url: str, examples: Examples, count: int) -> set[str]:
    packets = [Packet(tenant="acme", via=Via.SWEEP, dues=(Due.of(examples.task()),)) for _ in range(count)]
    SqsQueue(url=url, client=on_aws.sqs, clock=Still(examples.now)).send(packets)
    return {due.id for packet in packets for due in packet.dues}


def ids(messages: list[Received]) -> set[str]:
    return {due.id for message in messages for due in message.packet.dues}


def test_messages_are_taken_ten_at_a_time_and_hidden_for_a_lease(
    on_aws: OnAws, url: str, further: SqsFurther, examples: Examples, boundary: Boundary
) -> None:
    wanted = sent(on_aws, url, examples, 12)
    first, second = asked(further), asked(further)
    assert (len(first), len(second)) == (10, 2)
    assert ids(first) | ids(second) == wanted
    assert {message.receives for message in (*first, *second)} == {1}
    assert {request["VisibilityTimeout"] for request in boundary.asked("ReceiveMessage")} == {43}


def test_an_empty_queue_is_asked_for_a_second(further: SqsFurther, boundary: Boundary) -> None:
    assert asked(further) == []
    (request,) = boundary.asked("ReceiveMessage")
    assert request["WaitTimeSeconds"] == 1


def test_deleted_messages_are_gone_and_no_others(
    on_aws: OnAws, url: str, further: SqsFurther, examples: Examples
) -> None:
    sent(on_aws, url, examples, 3)
    kept, *done = asked(further)
    further.delete(done)
    on_aws.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=kept.receipt, VisibilityTimeout=0)
    assert ids(asked(further)) == ids([kept])


def test_a_message_that_is_no_packet_is_left_to_its_dead_letters(
    on_aws: OnAws, url: str, further: SqsFurther, examples: Examples
) -> None:
    on_aws.sqs.send_message(QueueUrl=url, MessageBody="no packet")
    wanted = sent(on_aws, url, examples, 1)
    assert ids(asked(further)) == wanted


@pytest.mark.parametrize("fault", [lost, refused("InternalError", 500)], ids=["lost", "refused"])
def test_a_queue_that_does_not_answer_gives_nothing_and_breaks_nobody_off(
    on_aws: OnAws, url: str, further: SqsFurther, examples: Examples, boundary: Boundary, fault: Any
) -> None:
    # Each question whose answer is lost takes ten messages: an empty queue would answer a second later.
    sent(on_aws, url, examples, 60)
    taken = asked(further)
    boundary.fail("ReceiveMessage", *[fault] * 5)
    boundary.fail("DeleteMessageBatch", *[fault] * 5)
    assert asked(further) == []
    further.delete(taken)
