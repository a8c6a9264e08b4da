from datetime import timedelta

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from postdate.runtime.visibility import Visibility
from tests.unit.doubles import LEASE, SECOND, message


class Sqs:
    """Takes note of what it is asked to hide; raises when told."""

    def __init__(self, *, error=None, failed=()):
        self.hidden = []
        self._error = error
        self._failed = failed

    def change_message_visibility_batch(self, *, QueueUrl, Entries):  # noqa: N803
        if self._error:
            raise self._error
        self.hidden.append((QueueUrl, Entries))
        return {"Failed": [{"Id": id, "Code": "ReceiptHandleIsInvalid"} for id in self._failed]}


def visibility(sqs):
    return Visibility(url="queue", client=sqs, lease=LEASE)


def hidden(sqs):
    ((url, entries),) = sqs.hidden
    assert url == "queue"
    return {entry["ReceiptHandle"]: entry["VisibilityTimeout"] for entry in entries}


def test_more_messages_than_a_request_takes_are_hidden_in_several():
    sqs = Sqs()
    visibility(sqs).extend([message(number=number) for number in range(25)], LEASE)
    assert [len(entries) for _, entries in sqs.hidden] == [10, 10, 5]
    assert len({entry["ReceiptHandle"] for _, entries in sqs.hidden for entry in entries}) == 25


def test_the_messages_of_a_batch_are_hidden_in_one_request():
    sqs = Sqs()
    visibility(sqs).extend([message(number=1), message(number=2)], LEASE + 3 * SECOND)
    assert hidden(sqs) == {"receipt-1-1": 43, "receipt-2-1": 43}


@pytest.mark.parametrize(("receives", "seconds"), [(1, 40), (2, 80), (3, 160), (5, 640), (6, 900), (60, 900)])
def test_a_failed_message_comes_back_later_each_time_up_to_a_quarter_of_an_hour(receives, seconds):
    sqs = Sqs()
    visibility(sqs).back_off([message(receives=receives)])
    assert hidden(sqs) == {f"receipt-1-{receives}": seconds}


def test_eight_tries_outlast_an_outage_of_half_an_hour():
    sqs = Sqs()
    for receives in range(1, 8):
        visibility(sqs).back_off([message(receives=receives)])
    waits = [entry["VisibilityTimeout"] for _, entries in sqs.hidden for entry in entries]
    assert timedelta(seconds=sum(waits)) > timedelta(minutes=30)


def test_nothing_to_hide_is_no_request():
    sqs = Sqs()
    visibility(sqs).back_off([])
    assert sqs.hidden == []


@pytest.mark.parametrize(
    "sqs",
    [
        Sqs(failed=["0"]),
        Sqs(error=EndpointConnectionError(endpoint_url="u")),
        Sqs(error=ClientError({"Error": {"Code": "InternalError", "Message": "no"}}, "hide")),
    ],
    ids=["refused", "unreachable", "broken"],
)
def test_a_queue_that_hides_nothing_breaks_no_batch_off(sqs):
    visibility(sqs).extend([message()], LEASE)
