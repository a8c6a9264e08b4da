from concurrent.futures import ThreadPoolExecutor

from postdate.targets.base import Delivered, Failed
from postdate.targets.flight import Flight
from postdate.targets.registry import targets


class Queue:
    def send_message_batch(self, *, QueueUrl, Entries):  # noqa: N803
        return {"Successful": Entries}


def landed(flight):
    came = []
    while flight.under_way:
        came += flight.landed(wait_seconds=5)
    return {landed.delivery.run_id: landed.receipt for landed in came}


def test_what_the_executor_is_given_delivers_to_both_kinds(receiver, delivery, clock):
    there = receiver()
    with ThreadPoolExecutor(1) as pool:
        kinds = targets(loopback_allowed=True, sqs=Queue(), now=clock, sqs_pool=pool)
        flight = Flight(kinds)
        flight.start(
            [
                delivery(there.url, run_id="webhook"),
                delivery("q", run_id="sqs", type="sqs", queues_allowed=frozenset({"q"})),
            ]
        )
        receipts = landed(flight)
        kinds["webhook"].close()
    assert receipts == {"webhook": Delivered(http_status=200), "sqs": Delivered()}


def test_loopback_is_called_only_where_the_setting_allows_it(receiver, delivery, clock):
    there = receiver()
    kinds = targets(loopback_allowed=False, sqs=Queue(), now=clock)
    flight = Flight(kinds)
    flight.start([delivery(there.url)])
    receipts = landed(flight)
    kinds["webhook"].close()
    assert receipts == {
        "run-1": Failed(reason="destination not allowed: the scheme is not https", retry=False)
    }
    assert there.connections == 0
