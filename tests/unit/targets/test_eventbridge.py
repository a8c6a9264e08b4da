import json

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from moto import mock_aws

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.base import Delivered, Failed
from postdate.targets.eventbridge import EVENTBRIDGE, EventBridgeTarget
from tests.unit.targets.conftest import Inline

BUS = "postdate-destination-a"
OTHER = "postdate-destination-b"


class Client:
    """Records the calls; `reply` makes an answer, or raises, from the entries of a call."""

    def __init__(self, reply=lambda entries: answer([{"EventId": "e"}] * len(entries))):
        self.reply = reply
        self.calls = []

    def put_events(self, *, Entries):  # noqa: N803
        self.calls.append(Entries)
        return self.reply(Entries)


def answer(entries):
    return {"FailedEntryCount": sum("ErrorCode" in entry for entry in entries), "Entries": entries}


def error(code):
    return ClientError({"Error": {"Code": code, "Message": "secret"}}, "PutEvents")


@pytest.fixture
def sent(deliver, delivery):
    """The receipts of these deliveries, each given by its fields."""

    def send(client, *fields):
        to_bus = {
            "type": "eventbridge",
            "address": BUS,
            "detail_type": "Order due",
            "allowed": frozenset({BUS, OTHER}),
        }
        target = EventBridgeTarget(client=client, pool=Inline())
        return deliver.all(target, *(delivery(**(to_bus | one)) for one in fields))

    return send


@pytest.mark.parametrize(
    "bus", [OTHER, BUS.upper(), BUS + "/", " " + BUS, "", "default", f"arn:aws:events:::event-bus/{BUS}"]
)
def test_a_bus_that_is_not_on_the_tenants_list_to_the_letter_is_refused(bus):
    def refuse(name):
        to_bus = EVENTBRIDGE.destination({"bus": name, "detail_type": "d"})
        EVENTBRIDGE.refuse(to_bus, allowed={BUS}, loopback_allowed=False)

    refuse(BUS)
    with pytest.raises(DestinationNotAllowed):
        refuse(bus)


def test_the_list_is_asked_again_at_the_attempt(sent):
    client = Client()
    receipts = sent(client, {"allowed": frozenset()}, {})
    assert receipts == [
        Failed(
            reason="destination not allowed: the bus is not on the tenant's list", retry=False, heard=False
        ),
        Delivered(),
    ]
    assert len(client.calls[0]) == 1


def test_an_event_carries_the_payload_and_the_facts(sent):
    client = Client()
    assert sent(client, {"run_id": "run-9", "payload": '{"größe":[1]}'.encode()}) == [Delivered()]
    ((entry,),) = client.calls
    detail = json.loads(entry.pop("Detail"))
    assert entry == {"Source": "postdate", "DetailType": "Order due", "EventBusName": BUS}
    assert detail == {
        "payload": {"größe": [1]},
        "postdate": {
            "task_id": "task-1",
            "run_id": "run-9",
            "depth": 1,
            "attempt": 2,
            "token": 7,
            "planned_at": "2026-11-18T10:05:00.250Z",
            "idempotency_key": "run-9",
        },
    }


def test_a_payload_goes_as_it_was_written_and_none_is_null(sent):
    client = Client()
    sent(client, {"payload": b'[1e999,12345678901234567890123,"\\ud800"]'}, {"payload": b""})
    first, second = (entry["Detail"] for entry in client.calls[0])
    assert first.startswith('{"payload":[1e999,12345678901234567890123,"\\ud800"],"postdate":{')
    assert json.loads(second)["payload"] is None


def test_ten_events_a_call_by_bus_and_in_order(sent):
    client = Client()
    fields = [{"run_id": f"run-{number}", "address": (BUS, OTHER)[number % 2]} for number in range(24)]
    assert sent(client, *fields) == [Delivered()] * 24
    assert [({entry["EventBusName"] for entry in call}, len(call)) for call in client.calls] == [
        ({BUS}, 10),
        ({BUS}, 2),
        ({OTHER}, 10),
        ({OTHER}, 2),
    ]
    runs = [json.loads(entry["Detail"])["postdate"]["run_id"] for call in client.calls for entry in call]
    assert runs == [f"run-{number}" for number in (*range(0, 24, 2), *range(1, 24, 2))]


@pytest.mark.parametrize("bytes_", [1, 30_000, 64 * 1024, 130_000, 256 * 1024])
def test_each_call_is_within_256_kb_as_eventbridge_counts_it(sent, bytes_):
    client = Client()
    payload = b'"' + b"x" * (bytes_ - 2) + b'"' if bytes_ > 1 else b"1"
    ids = {"run_id": "run_" + "r" * 60, "task_id": "task_" + "t" * 60, "detail_type": "ü" * 128}
    assert sent(client, *[ids | {"payload": payload}] * 12) == [Delivered()] * 12
    assert sum(map(len, client.calls)) == 12
    for call in client.calls:
        size = sum(len(entry[part].encode()) for entry in call for part in ("Source", "DetailType", "Detail"))
        assert len(call) == 1 or size <= 256 * 1024
    assert bytes_ < 256 * 1024 or len(client.calls) == 12


@pytest.mark.parametrize(
    ("code", "receipt"),
    [
        ("InvalidArgument", Failed(reason="eventbridge InvalidArgument", retry=False)),
        ("MalformedDetail", Failed(reason="eventbridge MalformedDetail", retry=False)),
        ("ThrottlingException", Failed(reason="eventbridge ThrottlingException", down=True)),
        ("InternalFailure", Failed(reason="eventbridge InternalFailure", down=True)),
        ("AccessDeniedException", Failed(reason="eventbridge AccessDeniedException", down=True)),
        ("odd code <script>", Failed(reason="eventbridge did not accept the message")),
        ("", Failed(reason="eventbridge did not accept the message")),
    ],
)
def test_one_refused_event_spoils_none_of_its_call(sent, code, receipt):
    client = Client(
        lambda entries: answer(
            [{"EventId": "1"}, {"ErrorCode": code, "ErrorMessage": "secret"}, {"EventId": "3"}]
        )
    )
    assert sent(client, {}, {}, {}) == [Delivered(), receipt, Delivered()]
    assert len(client.calls) == 1


def test_an_answer_that_does_not_say_what_became_of_each_has_delivered_none(sent):
    client = Client(lambda entries: answer([{"EventId": "1"}]))
    assert sent(client, {}, {}) == [Failed(reason="eventbridge did not accept the message")] * 2


@pytest.mark.parametrize("code", ["ThrottlingException", "AccessDeniedException", "InternalException"])
def test_a_fault_of_the_bus_fails_the_call_once_and_may_be_mended(sent, code):
    def reply(entries):
        raise error(code)

    client = Client(reply)
    assert sent(client, {}, {}) == [Failed(reason=f"eventbridge {code}", down=True)] * 2
    assert len(client.calls) == 1


def test_an_event_that_is_too_large_fails_alone_and_for_good(sent):
    def reply(entries):
        if any("bad" in entry["Detail"] for entry in entries):
            raise error("ValidationException")
        return answer([{"EventId": "e"}] * len(entries))

    client = Client(reply)
    receipts = sent(client, {}, {"payload": b'"bad"'}, {})
    assert receipts == [
        Delivered(),
        Failed(reason="eventbridge ValidationException", retry=False),
        Delivered(),
    ]
    assert len(client.calls) == 4


def test_no_answer_from_eventbridge_is_a_receipt(sent):
    def reply(entries):
        raise EndpointConnectionError(endpoint_url="secret")

    assert sent(Client(reply), {}, {}) == [Failed(reason="eventbridge did not answer")] * 2


def test_a_fault_of_our_own_is_a_receipt(sent):
    def reply(entries):
        raise RuntimeError

    assert sent(Client(reply), {}) == [Failed(reason="internal error", heard=False)]


def test_eventbridge_itself_takes_what_we_send(sent, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client = boto3.client("events", region_name="us-east-1")
        client.create_event_bus(Name=BUS)
        assert sent(client, *[{}] * 11, {"payload": b""}) == [Delivered()] * 12
        malformed = Failed(reason="eventbridge MalformedDetail", retry=False)
        assert sent(client, {}, {"payload": b"no JSON"}, {}) == [Delivered(), malformed, Delivered()]
