import json
from dataclasses import replace
from datetime import timedelta

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import instants
from postdate.domain.due import Due, Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.slots import Slot, item_id
from postdate.runtime.queue import SqsQueue, received, text_of
from tests.unit.doubles import SECOND, START, ManualClock, a_task, message, unique

IDS = st.builds(
    lambda minute, number: item_id("task", Slot(minute=minute, shard=number % 4), unique(number)),
    st.integers(0, 2**30 - 1),
    st.integers(0, 2**80 - 1),
)
DUES = st.builds(
    Due,
    id=IDS,
    version=st.integers(1, 10**9),
    due_at=st.integers(0, 4 * 10**12).map(instants.from_milliseconds),
)
PACKETS = st.builds(
    Packet,
    tenant=st.sampled_from(["demo", "ünïcode", 'quo"te']),
    via=st.sampled_from(Via),
    dues=st.lists(DUES, min_size=1, max_size=5).map(tuple),
    seen=st.booleans(),
    by=st.sampled_from(["", "operation:op_0"]),
)


def record(body, receives=1):
    return {
        "body": body,
        "messageId": "m-1",
        "receiptHandle": "r-1",
        "attributes": {"ApproximateReceiveCount": str(receives)},
    }


@given(PACKETS)
def test_a_packet_arrives_as_it_was_sent(packet):
    assert received(record(text_of(packet))).packet == packet


def test_a_full_packet_is_far_below_what_a_message_may_hold():
    dues = tuple(Due.of(a_task(number)) for number in range(25))
    assert len(text_of(Packet(tenant="demo", via=Via.REGISTRATION, dues=dues))) < 4096


def test_a_packet_tells_nothing_of_its_tasks_but_id_version_and_instant():
    task = a_task(name="secret")
    body = json.loads(text_of(message(task).packet))
    assert body == {
        "form": 1,
        "tenant": "demo",
        "via": "sweep",
        "dues": [[task.id, 1, instants.milliseconds(task.due_at)]],
    }


def test_a_message_is_repeated_from_its_second_delivery_on():
    text = text_of(message(a_task()).packet)
    assert [received(record(text, receives)).repeated for receives in (1, 2, 8)] == [False, True, True]
    assert (received(record(text)).message_id, received(record(text)).receipt) == ("m-1", "r-1")


def test_a_message_that_a_worker_sent_on_counts_as_repeated():
    sent_on = received(record(text_of(message(a_task(), seen=True).packet)))
    assert (sent_on.receives, sent_on.repeated) == (1, True)
    assert not received(record(body(seen="yes"))).repeated


def test_unknown_fields_of_a_newer_message_do_not_hide_its_calls():
    known, newer = received(record(body())), received(record(body(via="carrier pigeon", weather="fair")))
    assert newer.packet.via is Via.UNKNOWN
    assert replace(newer.packet, via=known.packet.via) == known.packet


def body(**changes):
    return json.dumps({"form": 1, "tenant": "demo", "via": "sweep", "dues": [], **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "null",
        "{}",
        body(form=2),
        body(dues=None),
        body(dues=[[]]),
        body(dues=[["task", 1]]),
        body(dues=[[a_task().id, 1, "now"]]),
        body(dues=[[a_task().id, 1, 10**18]]),
        body(dues=[["no id", 1, 0]]),
        body(dues=[[5, 1, 0]]),
        json.dumps({"form": 1, "via": "sweep", "dues": []}),
    ],
)
def test_a_message_that_is_none_of_ours_is_refused_as_unreadable(text):
    with pytest.raises(ValueError, match=r".*"):
        received(record(text))


class Sqs:
    """A client that takes what its script lets it: each step names entries it refuses, or is raised."""

    def __init__(self, *script):
        self.script = list(script)
        self.batches = []

    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803 (boto3's names)
        self.batches.append(Entries)
        step = self.script.pop(0) if self.script else ()
        if isinstance(step, Exception):
            raise step
        return {"Failed": [{"Id": id} for id in step]}


def packets(number):
    return [message(a_task(each, due_at=START + 60 * SECOND)).packet for each in range(number)]


def send(sqs, number):
    SqsQueue(url="q", client=sqs, clock=ManualClock(START)).send(packets(number))


def test_packets_are_sent_in_tens_each_with_its_delay():
    sqs = Sqs()
    send(sqs, 23)
    # Batches are sent side by side, so they arrive in no order.
    assert sorted(len(batch) for batch in sqs.batches) == [3, 10, 10]
    assert {entry["DelaySeconds"] for batch in sqs.batches for entry in batch} == {59}
    assert all(len({entry["Id"] for entry in batch}) == len(batch) for batch in sqs.batches)


def test_a_packet_is_of_its_tenants_group_so_that_the_queue_can_be_fair():
    sqs = Sqs()
    several = [message(a_task(each), tenant=tenant).packet for each, tenant in enumerate(("acme", "demo"))]
    SqsQueue(url="q", client=sqs, clock=ManualClock(START)).send(several)
    assert [entry["MessageGroupId"] for batch in sqs.batches for entry in batch] == ["acme", "demo"]


def test_a_delay_counts_from_the_moment_of_sending():
    clock = ManualClock(START)

    class Slow(Sqs):
        def send_message_batch(self, **given):
            clock.move(5 * SECOND)
            return super().send_message_batch(**given)

    sqs = Slow()
    queue = SqsQueue(url="q", client=sqs, clock=clock)
    for _ in range(2):
        queue.send(packets(1))
    assert [batch[0]["DelaySeconds"] for batch in sqs.batches] == [59, 54]


def test_nothing_to_send_is_no_call():
    sqs = Sqs()
    send(sqs, 0)
    assert sqs.batches == []


def test_only_what_was_refused_is_sent_again():
    sqs = Sqs(("1", "3"), ("3",))
    send(sqs, 5)
    assert [[entry["Id"] for entry in batch] for batch in sqs.batches] == [
        ["0", "1", "2", "3", "4"],
        ["1", "3"],
        ["3"],
    ]


def test_packets_that_are_refused_again_and_again_are_unavailable():
    with pytest.raises(Unavailable):
        send(Sqs(("0",), ("0",), ("0",)), 1)


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "ThrottlingException"}}, "SendMessageBatch"),
        EndpointConnectionError(endpoint_url="q"),
    ],
    ids=repr,
)
def test_a_queue_that_does_not_answer_is_told_as_such(error):
    with pytest.raises(Unavailable):
        send(Sqs((), error), 11)


def test_a_packet_overdue_is_sent_without_a_delay_and_never_with_a_negative_one():
    sqs = Sqs()
    SqsQueue(url="q", client=sqs, clock=ManualClock(START + timedelta(days=1))).send(packets(1))
    assert [entry["DelaySeconds"] for entry in sqs.batches[0]] == [0]
