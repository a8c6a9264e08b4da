import base64
import json

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws
from standardwebhooks import Webhook

from postdate.domain.errors import DestinationNotAllowed
from postdate.domain.task import Ack
from postdate.targets.base import Delivered, Failed
from postdate.targets.sqs import SQS, SqsTarget
from tests.unit.targets.conftest import Inline

URL = "https://sqs.us-east-1.amazonaws.com/123456789012/postdate-destination-a"
OTHER = "https://sqs.us-east-1.amazonaws.com/123456789012/postdate-destination-b"
FIFO = URL + ".fifo"
SECRET = "whsec_" + base64.b64encode(b"s" * 24).decode()


class Client:
    """Records the calls; `reply` makes an answer, or raises, from the entries of a call."""

    def __init__(self, reply=lambda entries: {"Successful": [{"Id": entry["Id"]} for entry in entries]}):
        self.reply = reply
        self.calls = []

    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803
        self.calls.append((QueueUrl, Entries))
        return self.reply(Entries)


def error(code):
    return ClientError({"Error": {"Code": code, "Message": "secret"}}, "SendMessageBatch")


@pytest.fixture
def sent(deliver, delivery, clock):
    """The receipts of these deliveries, each given by its fields."""

    def send(client, *fields):
        to_queue = {"type": "sqs", "address": URL, "allowed": frozenset({URL, OTHER, FIFO})}
        target = SqsTarget(client=client, pool=Inline(), now=clock)
        return deliver.all(target, *(delivery(**(to_queue | one)) for one in fields))

    return send


@pytest.mark.parametrize(
    "queue_url",
    [
        OTHER,
        URL + "/",
        URL + "?",
        URL.upper(),
        URL.replace("https", "http"),
        URL.replace("123456789012", "210987654321"),
        " " + URL,
        "",
        "postdate-destination-a",
    ],
)
def test_a_queue_that_is_not_on_the_tenants_list_to_the_letter_is_refused(queue_url):
    SQS.refuse(SQS.destination({"queue_url": URL}), allowed={URL}, loopback_allowed=False)
    with pytest.raises(DestinationNotAllowed):
        SQS.refuse(SQS.destination({"queue_url": queue_url}), allowed={URL}, loopback_allowed=False)


def test_the_list_is_asked_again_at_the_attempt(sent):
    client = Client()
    receipts = sent(client, {"allowed": frozenset()}, {})
    assert receipts == [
        Failed(
            reason="destination not allowed: the queue is not on the tenant's list", retry=False, heard=False
        ),
        Delivered(),
    ]
    assert len(client.calls[0][1]) == 1


def test_a_message_carries_the_facts_as_attributes_within_the_ten_that_sqs_takes(sent):
    client = Client()
    assert sent(client, {"signing_secrets": (SECRET,), "run_id": "run-9"}) == [Delivered()]
    entry = client.calls[0][1][0]
    attributes = {name: value["StringValue"] for name, value in entry["MessageAttributes"].items()}
    assert all(value["DataType"] == "String" for value in entry["MessageAttributes"].values())
    assert entry["MessageBody"] == '{"n":1}'
    assert attributes.pop("webhook-signature").startswith("v1,")
    assert len(entry["MessageAttributes"]) <= 10
    assert attributes == {
        "Idempotency-Key": "run-9",
        "Postdate-Task-Id": "task-1",
        "Postdate-Run-Id": "run-9",
        "Postdate-Depth": "1",
        "Postdate-Attempt": "2",
        "Postdate-Token": "7",
        "Postdate-Planned-At": "2026-11-18T10:05:00.250Z",
        "webhook-id": "run-9",
        "webhook-timestamp": "1794996300",
    }


def test_a_task_without_a_payload_sends_null_for_sqs_takes_no_empty_message(sent):
    client = Client()
    sent(client, {"payload": b""})
    assert client.calls[0][1][0]["MessageBody"] == "null"


def test_characters_that_sqs_would_replace_arrive_as_their_escapes_under_a_valid_signature(sent, clock):
    client = Client()
    sent(client, {"payload": '"a\ufffeb\uffff"'.encode(), "signing_secrets": (SECRET,)})
    entry = client.calls[0][1][0]
    assert entry["MessageBody"] == '"a\\ufffeb\\uffff"'
    assert json.loads(entry["MessageBody"]) == "a\ufffeb\uffff"
    attributes = {name: value["StringValue"] for name, value in entry["MessageAttributes"].items()}
    assert attributes["webhook-signature"] == Webhook(SECRET).sign("run-1", clock(), entry["MessageBody"])


def test_ten_messages_a_call_by_queue_and_in_order(sent):
    client = Client()
    fields = [{"run_id": f"run-{number}", "address": (URL, OTHER)[number % 2]} for number in range(24)]
    assert sent(client, *fields) == [Delivered()] * 24
    assert [(url, len(entries)) for url, entries in client.calls] == [
        (URL, 10),
        (URL, 2),
        (OTHER, 10),
        (OTHER, 2),
    ]
    runs = [
        entry["MessageAttributes"]["webhook-id"]["StringValue"]
        for _, entries in client.calls
        for entry in entries
    ]
    assert runs == [f"run-{number}" for number in (*range(0, 24, 2), *range(1, 24, 2))]


def test_four_messages_of_256_kb_do_not_fit_into_one_call_with_their_attributes(sent):
    client = Client()
    sent(client, *[{"payload": b"x" * 262_144}] * 4)
    assert [len(entries) for _, entries in client.calls] == [3, 1]


@settings(max_examples=50)
@given(st.lists(st.integers(1, 600_000), max_size=25))
def test_every_call_is_within_both_limits_and_nothing_is_left_out(sizes):
    class Sized:
        def __init__(self, size):
            self.body = range(size)

    deliveries = [Sized(size) for size in sizes]
    target = SqsTarget(client=Client(), pool=Inline(), now=None)
    batches = list(target.batches(iter(deliveries)))
    assert [one for batch in batches for one in batch] == deliveries
    for batch in batches:
        assert 1 <= len(batch) <= 10
        assert sum(len(one.body) for one in batch) <= target.bytes_max


@pytest.mark.parametrize(
    ("code", "receipt"),
    [
        ("InvalidMessageContents", Failed(reason="sqs InvalidMessageContents", retry=False)),
        ("InvalidParameterValue", Failed(reason="sqs InvalidParameterValue", retry=False)),
        ("InternalError", Failed(reason="sqs InternalError", down=True)),
        ("KmsThrottled", Failed(reason="sqs KmsThrottled", down=True)),
        ("odd code <script>", Failed(reason="sqs did not accept the message")),
    ],
)
def test_one_refused_message_spoils_none_of_its_batch(sent, code, receipt):
    def reply(entries):
        failed = {"Id": entries[1]["Id"], "Code": code, "Message": "secret", "SenderFault": True}
        return {"Successful": [{"Id": entries[0]["Id"]}, {"Id": entries[2]["Id"]}], "Failed": [failed]}

    assert sent(Client(reply), {}, {}, {}) == [Delivered(), receipt, Delivered()]


def test_a_message_that_the_answer_does_not_mention_is_not_delivered(sent):
    client = Client(lambda entries: {"Successful": [{"Id": "1"}]})
    assert sent(client, {}, {}) == [Failed(reason="sqs did not accept the message"), Delivered()]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("AWS.SimpleQueueService.NonExistentQueue", "sqs NonExistentQueue"),
        ("QueueDoesNotExist", "sqs QueueDoesNotExist"),
        ("AccessDenied", "sqs AccessDenied"),
        ("KMS.AccessDeniedException", "sqs AccessDeniedException"),
        ("RequestThrottled", "sqs RequestThrottled"),
        ("ServiceUnavailable", "sqs ServiceUnavailable"),
        ("", "sqs did not accept the message"),
    ],
)
def test_a_fault_of_the_queue_fails_the_call_once_and_may_be_mended(sent, code, reason):
    def reply(entries):
        raise error(code)

    client = Client(reply)
    assert sent(client, {}, {}) == [Failed(reason=reason, down=bool(code))] * 2
    assert len(client.calls) == 1


@pytest.mark.parametrize("code", ["AWS.SimpleQueueService.BatchRequestTooLong", "InvalidParameterValue"])
def test_a_message_that_makes_the_whole_call_fail_fails_alone(sent, code):
    def reply(entries):
        if any(entry["MessageBody"] == "bad" for entry in entries):
            raise error(code)
        return {"Successful": [{"Id": entry["Id"]} for entry in entries]}

    client = Client(reply)
    receipts = sent(client, {}, {"payload": b"bad"}, {})
    assert receipts == [
        Delivered(),
        Failed(reason=f"sqs {code.rpartition('.')[2]}", retry=False),
        Delivered(),
    ]
    assert len(client.calls) == 4


def test_no_answer_from_sqs_is_a_receipt(sent):
    def reply(entries):
        raise EndpointConnectionError(endpoint_url="secret")

    assert sent(Client(reply), {}, {}) == [Failed(reason="sqs did not answer")] * 2


def test_a_fault_of_our_own_is_a_receipt(sent):
    def reply(entries):
        raise RuntimeError

    assert sent(Client(reply), {}) == [Failed(reason="internal error", heard=False)]


class Held:
    """An executor that runs what it got when it is told to, the last first."""

    def __init__(self):
        self.jobs = []

    def submit(self, function, *args):
        self.jobs.append(lambda: function(*args))

    def run(self):
        while self.jobs:
            self.jobs.pop()()


def test_a_fifo_queue_gets_a_group_for_each_task_and_no_delay(sent):
    client = Client()
    assert sent(client, {"address": FIFO, "run_id": "run-9"}, {}) == [Delivered()] * 2
    (_, (plain,)), (_, (ordered,)) = client.calls
    assert ordered["MessageGroupId"] == "task-1"
    assert ordered["MessageDeduplicationId"] == "run-9"
    assert not {"MessageGroupId", "MessageDeduplicationId"} & plain.keys()
    assert not any("DelaySeconds" in entry for entry in (plain, ordered))


def test_with_an_explicit_acknowledgement_each_attempt_is_a_message_for_its_token_is_needed(sent):
    client = Client()
    attempt = {"address": FIFO, "ack": Ack.EXPLICIT}
    sent(client, attempt, attempt | {"token": 8})
    first, second = client.calls[0][1]
    assert first["MessageDeduplicationId"] != second["MessageDeduplicationId"]


def test_calls_to_a_fifo_queue_wait_for_one_another(deliver, delivery, clock):
    client, held, reports = Client(), Held(), []
    target = SqsTarget(client=client, pool=held, now=clock)
    for address in (FIFO, URL):
        deliveries = [
            delivery(type="sqs", address=address, run_id=f"run-{number}", allowed=frozenset({address}))
            for number in range(25)
        ]
        target.start(deliveries, lambda *report: reports.append(report))
    held.run()
    to_fifo = [entries for url, entries in client.calls if url == FIFO]
    runs = [entry["MessageDeduplicationId"] for entries in to_fifo for entry in entries]
    assert runs == [f"run-{number}" for number in range(25)]
    assert [len(entries) for url, entries in client.calls if url == URL] == [5, 10, 10]
    assert [receipt for _, receipt in reports] == [Delivered()] * 50


def test_sqs_itself_takes_what_we_send(sent, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client = boto3.client("sqs", region_name="us-east-1")
        url = client.create_queue(QueueName="postdate-destination-a")["QueueUrl"]
        fields = {"address": url, "allowed": frozenset({url}), "signing_secrets": (SECRET, SECRET)}
        assert sent(client, *[fields] * 11, {"payload": b""} | fields) == [Delivered()] * 12
        taken = []
        while messages := client.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages"):
            taken += messages
    assert sorted(message["Body"] for message in taken) == ["null", *['{"n":1}'] * 11]
    assert all(len(message["MessageAttributes"]) == 10 for message in taken)


def test_sqs_drops_what_it_had_within_five_minutes_and_keeps_the_order_of_a_task(sent, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client = boto3.client("sqs", region_name="us-east-1")
        url = client.create_queue(QueueName="postdate-destination-a.fifo", Attributes={"FifoQueue": "true"})[
            "QueueUrl"
        ]
        to_fifo = {"address": url, "allowed": frozenset({url}), "signing_secrets": (SECRET, SECRET)}
        runs = [to_fifo | {"run_id": f"run-{number}"} for number in range(12)]
        assert sent(client, *runs) == [Delivered()] * 12
        assert sent(client, *(run | {"attempt": 3, "token": 8} for run in runs)) == [Delivered()] * 12
        taken = []
        while messages := client.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages"):
            taken += messages
            for message in messages:
                client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    told = [message["MessageAttributes"] for message in taken]
    assert [each["webhook-id"]["StringValue"] for each in told] == [f"run-{number}" for number in range(12)]
    assert {each["Postdate-Token"]["StringValue"] for each in told} == {"7"}
