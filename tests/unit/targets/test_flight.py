import threading
import time

from postdate.targets.base import Delivered, Failed
from postdate.targets.flight import Flight, Landed

TAKEN = Delivered()


class Held:
    """A target that reports when the test says so."""

    def __init__(self):
        self.started = []

    def start(self, deliveries, report):
        self.started += [(delivery, report) for delivery in deliveries]

    def land(self, index):
        delivery, report = self.started[index]
        report(delivery, TAKEN)


def test_receipts_come_in_as_they_land_and_later_deliveries_may_start_meanwhile(delivery):
    target = Held()
    flight = Flight({"webhook": target})
    first, second, third = delivery(), delivery(), delivery()
    flight.start([first, second])
    assert flight.landed(wait_seconds=0) == []
    target.land(1)
    assert flight.landed(wait_seconds=1) == [Landed(second, TAKEN)]
    flight.start([third])
    target.land(0)
    target.land(2)
    assert flight.under_way == 2
    assert flight.landed(wait_seconds=1) == [Landed(first, TAKEN), Landed(third, TAKEN)]
    assert flight.under_way == 0


def test_nobody_waits_when_nothing_is_under_way():
    began = time.monotonic()
    assert Flight({}).landed(wait_seconds=5) == []
    assert time.monotonic() - began < 1


def test_the_wait_ends_with_the_first_receipt_or_with_its_time(delivery):
    target = Held()
    flight = Flight({"webhook": target})
    flight.start([delivery(), delivery()])
    assert flight.landed(wait_seconds=0.01) == []
    timer = threading.Timer(0.02, target.land, [0])
    timer.start()
    assert len(flight.landed(wait_seconds=5)) == 1
    timer.join()


def test_each_delivery_goes_to_the_target_of_its_type(delivery):
    webhooks, queues = Held(), Held()
    flight = Flight({"webhook": webhooks, "sqs": queues})
    mixed = [delivery(type=kind) for kind in ("sqs", "webhook", "sqs")]
    flight.start(mixed)
    assert [one for one, _ in queues.started] == [mixed[0], mixed[2]]
    assert [one for one, _ in webhooks.started] == [mixed[1]]


def test_a_type_that_this_version_does_not_know_waits_for_one_that_does(delivery):
    flight = Flight({})
    later = delivery(type="eventbridge")
    flight.start([later])
    assert flight.landed(wait_seconds=1) == [Landed(later, Failed(reason="unknown destination type"))]
