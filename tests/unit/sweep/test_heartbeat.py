import pytest

from functions.sweep.heartbeat import Heartbeat
from postdate.domain.errors import Unavailable
from postdate.stores.passes_memory import MemoryPasses
from tests.unit.doubles import SECOND, ManualClock

EVERY = 10 * SECOND


class Heart:
    def __init__(self):
        self.clock = ManualClock()
        self.sent = []
        self.broken = False
        self.heartbeat = Heartbeat(passes=MemoryPasses(), clock=self.clock, every=EVERY, send=self._send)

    def _send(self, number, delay):
        if self.broken:
            raise Unavailable
        self.sent.append((number, delay))


@pytest.fixture
def heart():
    return Heart()


def test_a_clock_that_never_ran_is_started(heart):
    assert heart.heartbeat.revive()
    assert heart.sent == [(1, EVERY)]


def test_each_beat_sends_the_next_one(heart):
    heart.heartbeat.revive()
    for number in (1, 2, 3):
        heart.clock.move(EVERY)
        assert heart.heartbeat.beat(number)
    assert heart.sent == [(number, EVERY) for number in (1, 2, 3, 4)]


def test_a_beat_delivered_twice_does_not_become_two_clocks(heart):
    heart.heartbeat.revive()
    assert heart.heartbeat.beat(1)
    assert not heart.heartbeat.beat(1)
    assert heart.sent == [(1, EVERY), (2, EVERY)]


@pytest.mark.parametrize("number", [0, 2, 99])
def test_a_beat_out_of_turn_is_not_counted(heart, number):
    heart.heartbeat.revive()
    assert not heart.heartbeat.beat(number)
    assert heart.sent == [(1, EVERY)]


def test_a_running_clock_is_left_alone(heart):
    heart.heartbeat.revive()
    heart.clock.move(3 * EVERY - SECOND)
    assert not heart.heartbeat.revive()


def test_a_clock_that_missed_two_beats_is_started_again_where_it_stopped(heart):
    heart.heartbeat.revive()
    heart.heartbeat.beat(1)
    heart.clock.move(3 * EVERY)
    assert heart.heartbeat.revive()
    assert heart.sent == [(1, EVERY), (2, EVERY), (3, EVERY)]


def test_a_late_beat_after_a_revival_is_no_second_clock(heart):
    heart.heartbeat.revive()
    heart.clock.move(3 * EVERY)
    heart.heartbeat.revive()
    assert not heart.heartbeat.beat(1)
    assert heart.heartbeat.beat(2)


def test_a_worker_that_died_between_count_and_send_stops_the_clock_until_a_tick_revives_it(heart):
    heart.heartbeat.revive()
    heart.broken = True
    with pytest.raises(Unavailable):
        heart.heartbeat.beat(1)
    heart.broken = False
    assert not heart.heartbeat.beat(1)
    heart.clock.move(3 * EVERY)
    assert heart.heartbeat.revive()
    assert heart.sent == [(1, EVERY), (3, EVERY)]
