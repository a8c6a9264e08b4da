import pytest

from postdate.domain.due import Due, Packet, Via
from postdate.runtime import records
from postdate.runtime.queue import text_of
from tests.unit.doubles import a_task

PACKET = Packet(tenant="demo", via=Via.SWEEP, dues=(Due.of(a_task()),))


def record(number, body, receives=1):
    return {
        "messageId": f"m-{number}",
        "receiptHandle": f"r-{number}",
        "attributes": {"ApproximateReceiveCount": str(receives)},
        "body": body,
    }


@pytest.mark.parametrize(
    "odd", ["no json", "null", '{"form":1,"tenant":"t","via":"sweep","dues":[["x",1,0]]}']
)
def test_a_message_that_is_no_packet_is_named_and_spoils_no_other(odd):
    given = [record(1, text_of(PACKET)), record(2, odd), record(3, text_of(PACKET), receives=3)]
    messages, unreadable = records.read(given)
    assert [(each.message_id, each.packet, each.receives) for each in messages] == [
        ("m-1", PACKET, 1),
        ("m-3", PACKET, 3),
    ]
    assert unreadable == ["m-2"]
