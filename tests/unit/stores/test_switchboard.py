"""The readings of switches that one worker keeps."""

from datetime import timedelta

from postdate.domain.switch import COUNTS_FOR, SETTLEMENT, Switch, of_tenant, turned
from postdate.stores.switchboard import READ_EVERY, Switchboard
from postdate.stores.switches_memory import MemorySwitches
from tests.unit.doubles import ManualClock

ACME = of_tenant("acme")
MILLISECOND = timedelta(milliseconds=1)


class Reading:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.switches = MemorySwitches()
        self.board = Switchboard(switches=self.switches, clock=self.clock)

    def turn(self, name: str, *, on: bool) -> None:
        before = self.switches.get(name)
        after = turned(before, on=on, now=self.clock.now(), by="key:1", why="test")
        assert self.switches.change(before, after)


def test_a_reading_is_used_again_for_half_a_second() -> None:
    reading = Reading()
    for _ in range(100):
        reading.board.look([SETTLEMENT, ACME])
    assert reading.switches.reads == 1
    reading.clock.move(READ_EVERY)
    reading.board.look([SETTLEMENT, ACME])
    assert reading.switches.reads == 2


def test_switches_that_are_asked_for_together_are_read_in_one_request() -> None:
    reading = Reading()
    reading.board.look([SETTLEMENT, *(of_tenant(f"t{number}") for number in range(30))])
    assert reading.switches.reads == 1


def test_money_has_no_reading_that_is_two_seconds_old() -> None:
    reading = Reading()
    reading.board.look([SETTLEMENT])
    assert reading.board.known(SETTLEMENT) == Switch(name=SETTLEMENT)
    assert reading.board.seconds_left([SETTLEMENT]) == COUNTS_FOR.total_seconds()
    reading.clock.move(COUNTS_FOR - MILLISECOND)
    assert reading.board.known(SETTLEMENT) is not None
    reading.clock.move(MILLISECOND)
    assert reading.board.known(SETTLEMENT) is None
    assert reading.board.seconds_left([SETTLEMENT]) <= 0


def test_a_switch_that_was_never_read_has_no_reading_for_money_and_is_on_for_all_else() -> None:
    reading = Reading()
    assert reading.board.known(SETTLEMENT) is None
    assert reading.board.seconds_left([SETTLEMENT]) <= 0
    assert reading.board.last(SETTLEMENT).on


def test_the_last_good_reading_stays_while_the_switches_cannot_be_read() -> None:
    reading = Reading()
    reading.turn(ACME, on=False)
    reading.board.look([ACME])
    reading.turn(ACME, on=True)
    reading.switches.unreadable = True
    reading.clock.move(timedelta(hours=1))
    reading.board.look([ACME])
    assert not reading.board.last(ACME).on
    assert reading.board.known(ACME) is None
    reading.switches.unreadable = False
    reading.board.look([ACME])
    assert reading.board.last(ACME).on


def test_a_clock_that_is_set_back_makes_no_reading_younger() -> None:
    reading = Reading()
    reading.board.look([SETTLEMENT])
    reading.clock.move(timedelta(hours=-1))
    assert reading.board.known(SETTLEMENT) is None
    assert reading.board.seconds_left([SETTLEMENT]) <= 0
    assert reading.board.is_stale([SETTLEMENT], reading.clock.now())


def test_the_seconds_left_are_those_of_the_oldest_reading() -> None:
    reading = Reading()
    reading.board.look([ACME])
    reading.clock.move(READ_EVERY - MILLISECOND)
    reading.board.look([SETTLEMENT])
    assert (
        reading.board.seconds_left([SETTLEMENT, ACME])
        == (COUNTS_FOR - READ_EVERY + MILLISECOND).total_seconds()
    )
