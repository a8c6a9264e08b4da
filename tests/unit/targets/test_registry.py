from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from postdate.targets.base import Delivered, Failed
from postdate.targets.registry import targets


class Queue:
    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803
        return {"Successful": Entries}


class Bus:
    def put_events(self, *, Entries):  # noqa: N803
        return {"Entries": [{"EventId": "e"} for _ in Entries]}


def delivered(kinds, *deliveries):
    inbox = SimpleQueue()
    for each in deliveries:
        kinds[each.destination.type].start([each], lambda *report: inbox.put(report))
    reports = [inbox.get(timeout=5) for _ in deliveries]
    return {delivery.run_id: receipt for delivery, receipt in reports}


def test_what_the_executor_is_given_delivers_to_every_kind(receiver, delivery, clock):
    there = receiver()
    with ThreadPoolExecutor(1) as pool:
        kinds = targets(loopback_allowed=True, sqs=Queue(), events=Bus(), now=clock, sqs_pool=pool)
        receipts = delivered(
            kinds,
            delivery(there.url, run_id="webhook"),
            delivery("q", run_id="sqs", type="sqs", queues_allowed=frozenset({"q"})),
            delivery("b", run_id="event", type="eventbridge", buses_allowed=frozenset({"b"})),
        )
        kinds["webhook"].close()
    assert receipts == {"webhook": Delivered(http_status=200), "sqs": Delivered(), "event": Delivered()}


def test_loopback_is_called_only_where_the_setting_allows_it(receiver, delivery, clock):
    there = receiver()
    kinds = targets(loopback_allowed=False, sqs=Queue(), events=Bus(), now=clock)
    receipts = delivered(kinds, delivery(there.url))
    kinds["webhook"].close()
    assert receipts == {
        "run-1": Failed(reason="destination not allowed: the scheme is not https", retry=False)
    }
    assert there.connections == 0
