import base64
import json

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws
from standardwebhooks import Webhook

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.base import Delivered, Failed
from postdate.targets.sns import SNS, SnsTarget
from tests.unit.targets.conftest import Inline

ARN = "arn:aws:sns:us-east-1:123456789012:postdate-destination-a"
OTHER = "arn:aws:sns:us-east-1:123456789012:postdate-destination-b"
FIFO = ARN + ".fifo"
SECRET = "whsec_" + base64.b64encode(b"s" * 24).decode()


class Client:
    """Records the calls; `reply` makes an answer, or raises, from the entries of a call."""

    def __init__(self, reply=lambda entries: {"Successful": [{"Id": entry["Id"]} for entry in entries]}):
        self.reply = reply
        self.calls = []

    def publish_batch(self, *, TopicArn, PublishBatchRequestEntries):  # noqa: N803
        self.calls.append((TopicArn, PublishBatchRequestEntries))
        return self.reply(PublishBatchRequestEntries)


def error(code):
    return ClientError({"Error": {"Code": code, "Message": "secret"}}, "PublishBatch")


@pytest.fixture
def sent(deliver, delivery, clock):
    """The receipts of these deliveries, each given by its fields."""

    def send(client, *fields):
        to_topic = {"type": "sns", "address": ARN, "allowed": frozenset({ARN, OTHER, FIFO})}
        target = SnsTarget(client=client, pool=Inline(), now=clock)
        return deliver.all(target, *(delivery(**(to_topic | one)) for one in fields))

    return send


@pytest.mark.parametrize("arn", [OTHER, ARN.upper(), ARN + "/", " " + ARN, "", "postdate-destination-a"])
def test_a_topic_that_is_not_on_the_tenants_list_to_the_letter_is_refused(arn):
    SNS.refuse(SNS.destination({"topic_arn": ARN}), allowed={ARN}, loopback_allowed=False)
    with pytest.raises(DestinationNotAllowed):
        SNS.refuse(SNS.destination({"topic_arn": arn}), allowed={ARN}, loopback_allowed=False)


def test_the_list_is_asked_again_at_the_attempt(sent):
    client = Client()
    receipts = sent(client, {"allowed": frozenset()}, {})
    assert receipts == [
        Failed(
            reason="destination not allowed: the topic is not on the tenant's list", retry=False, heard=False
        ),
        Delivered(),
    ]
    assert len(client.calls[0][1]) == 1


def test_a_message_carries_the_payload_the_facts_and_a_signature(sent, clock):
    client = Client()
    sent(client, {"signing_secrets": (SECRET,), "run_id": "run-9", "payload": '{"größe":[1]}'.encode()})
    ((arn, (entry,)),) = client.calls
    told = {name: value["StringValue"] for name, value in entry["MessageAttributes"].items()}
    assert (arn, entry["Message"]) == (ARN, '{"größe":[1]}')
    assert told["webhook-signature"] == Webhook(SECRET).sign("run-9", clock(), entry["Message"])
    assert (told["Idempotency-Key"], told["Postdate-Token"]) == ("run-9", "7")
    assert not {"MessageGroupId", "MessageDeduplicationId"} & entry.keys()


def test_a_fifo_topic_gets_a_group_for_each_task(sent):
    client = Client()
    assert sent(client, {"address": FIFO, "run_id": "run-9"}) == [Delivered()]
    ((_, (entry,)),) = client.calls
    assert (entry["MessageGroupId"], entry["MessageDeduplicationId"]) == ("task-1", "run-9")


@pytest.mark.parametrize("bytes_", [1, 30_000, 64 * 1024, 130_000, 256 * 1024])
def test_each_call_is_within_256_kb_as_sns_counts_it(sent, bytes_):
    client = Client()
    ids = {"run_id": "run_" + "r" * 60, "task_id": "task_" + "t" * 60, "signing_secrets": (SECRET, SECRET)}
    assert sent(client, *[ids | {"payload": b"x" * bytes_}] * 12) == [Delivered()] * 12
    assert sum(len(entries) for _, entries in client.calls) == 12
    for _, entries in client.calls:
        assert len(entries) == 1 or sum(map(counted, entries)) <= 256 * 1024


def counted(entry):
    attributes = entry["MessageAttributes"].items()
    return len(entry["Message"].encode()) + sum(
        len(name) + len(value["DataType"]) + len(value["StringValue"]) for name, value in attributes
    )


def test_a_payload_of_255_kb_fits_into_a_call_with_its_attributes(sent):
    client = Client()
    sent(client, {"payload": b"x" * 255 * 1024, "signing_secrets": (SECRET, SECRET)})
    assert counted(client.calls[0][1][0]) <= 256 * 1024


@pytest.mark.parametrize(
    ("code", "receipt"),
    [
        ("InvalidParameter", Failed(reason="sns InvalidParameter", retry=False)),
        ("InternalError", Failed(reason="sns InternalError", down=True)),
        ("odd code <script>", Failed(reason="sns did not accept the message")),
    ],
)
def test_one_refused_message_spoils_none_of_its_batch(sent, code, receipt):
    def reply(entries):
        failed = {"Id": entries[1]["Id"], "Code": code, "Message": "secret", "SenderFault": True}
        return {"Successful": [{"Id": entries[0]["Id"]}, {"Id": entries[2]["Id"]}], "Failed": [failed]}

    assert sent(Client(reply), {}, {}, {}) == [Delivered(), receipt, Delivered()]


@pytest.mark.parametrize("code", ["NotFound", "AuthorizationError", "KMSThrottling", "Throttling"])
def test_a_fault_of_the_topic_fails_the_call_once_and_may_be_mended(sent, code):
    def reply(entries):
        raise error(code)

    client = Client(reply)
    assert sent(client, {}, {}) == [Failed(reason=f"sns {code}", down=True)] * 2
    assert len(client.calls) == 1


def test_a_message_that_is_too_large_fails_alone_and_for_good(sent):
    def reply(entries):
        if any(entry["Message"] == "bad" for entry in entries):
            raise error("BatchRequestTooLong")
        return {"Successful": entries}

    receipts = sent(Client(reply), {}, {"payload": b"bad"}, {})
    assert receipts == [Delivered(), Failed(reason="sns BatchRequestTooLong", retry=False), Delivered()]


def test_no_answer_from_sns_is_a_receipt(sent):
    def reply(entries):
        raise EndpointConnectionError(endpoint_url="secret")

    assert sent(Client(reply), {}) == [Failed(reason="sns did not answer")]


def test_sns_itself_takes_what_we_send_and_hands_it_on(sent, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client, sqs = (boto3.client(name, region_name="us-east-1") for name in ("sns", "sqs"))
        arn = client.create_topic(Name="postdate-destination-a")["TopicArn"]
        url = sqs.create_queue(QueueName="subscribed")["QueueUrl"]
        queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        client.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue)
        fields = {"address": arn, "allowed": frozenset({arn}), "signing_secrets": (SECRET, SECRET)}
        assert sent(client, *[fields] * 11, {"payload": b""} | fields) == [Delivered()] * 12
        bodies = []
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            bodies += [json.loads(message["Body"]) for message in messages]
    assert sorted(body["Message"] for body in bodies) == ["null", *['{"n":1}'] * 11]
    assert all(len(body["MessageAttributes"]) == 10 for body in bodies)
