"""Messages that follow from a commit are sent for any kind of item; failures return the right messages."""

import pytest

from postdate.domain.due import Due, Via
from postdate.runtime.outbox import Outbox
from tests.unit.doubles import SECOND, START, ManualClock, ScriptedQueue, a_payment, a_task, message


class Sending:
    def __init__(self):
        self.clock = ManualClock(START - 60 * SECOND)
        self.queue, self.dead_letters = ScriptedQueue(self.clock), ScriptedQueue(self.clock)
        self.outbox = Outbox(queue=self.queue, dead_letters=self.dead_letters)


@pytest.fixture
def sending():
    return Sending()


ITEMS = pytest.mark.parametrize("item", [a_task(), a_payment()], ids=["task", "payment"])


@ITEMS
def test_a_retry_goes_to_the_queue_for_its_instant(sending, item):
    sending.outbox.retry(item, message(item))
    assert sending.queue.sent == []
    sending.outbox.send()
    ((packet, delay),) = sending.queue.sent
    assert (packet.tenant, packet.via, packet.dues, packet.seen) == (
        "demo",
        Via.RETRY,
        (Due.of(item),),
        False,
    )
    assert delay == 59 * SECOND


@ITEMS
def test_a_letter_carries_the_version_that_died(sending, item):
    sending.outbox.bury(item, message(item))
    sending.outbox.send()
    assert [(packet.via, packet.dues) for packet in sending.dead_letters.packets] == [
        (Via.DEAD, (Due.of(item),))
    ]
    assert sending.queue.sent == []


def test_calls_that_are_alike_travel_together_and_once(sending):
    payments = [a_payment(number) for number in range(30)]
    for payment in payments:
        sending.outbox.retry(payment, message(payment))
    sending.outbox.send()
    sending.outbox.send()
    assert [len(packet.dues) for packet in sending.queue.packets] == [25, 5]
    assert sorted(sending.queue.ids) == sorted(payment.id for payment in payments)


def test_only_the_messages_whose_lines_could_not_be_sent_come_back(sending):
    lost, sent = a_payment(1), a_payment(2)
    sending.queue.refuses = 1
    sending.outbox.retry(lost, message(lost, number=1))
    sending.outbox.bury(sent, message(sent, number=2))
    sending.outbox.send()
    assert sending.outbox.failed_messages == {"message-1"}
    assert [due.id for packet in sending.dead_letters.packets for due in packet.dues] == [sent.id]


def test_copies_of_one_call_become_one_and_each_message_comes_back_if_it_is_not_sent(sending):
    payment, other = a_payment(1), a_payment(2)
    for refuses, expected in ((1, {"message-1", "message-2", "message-3"}), (0, set())):
        sending.queue.refuses = refuses
        sending.outbox.failed_messages.clear()
        for number, item in enumerate((payment, other, payment), 1):
            sending.outbox.send_on(Due.of(item), message(item, number=number), not_before=START + 5 * SECOND)
        sending.outbox.send()
        assert sending.outbox.failed_messages == expected
    (packet,) = sending.queue.packets
    assert packet.dues == (Due.of(payment), Due.of(other))
