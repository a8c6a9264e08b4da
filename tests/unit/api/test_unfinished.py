"""Lists of PENDING and RUNNING items look where the sweep left something, and at no other minute that is over."""

from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.unfinished import EVERY, KEPT, RECENT, SPANS_MAX, Between
from postdate.domain import instants
from postdate.domain.sweeping import Stage, Watermark
from tests.unit.api.swept import Notes, unfinished
from tests.unit.doubles import MINUTE, ManualClock


class Looking:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.now = instants.minute_of(self.clock.now())
        self.notes = Notes()
        self.notes.close(self.clock.now())
        self.unfinished = unfinished(self.notes, self.clock)

    def spans(self, of: str = "waiting") -> list[tuple[int, int | None]]:
        """Minutes, counted back from now."""
        found = getattr(self.unfinished.minutes(), of)
        return [
            (
                self.now - instants.minute_of(since),
                None if until is None else self.now - instants.minute_of(until),
            )
            for since, until in found
        ]


@pytest.fixture
def looking() -> Looking:
    return Looking()


RECENTLY = (int(RECENT / MINUTE), None)


def test_while_all_is_well_only_the_last_minutes_are_looked_at(looking):
    assert looking.spans() == [RECENTLY]


@pytest.mark.parametrize("group", [0, 1])
def test_a_minute_that_was_closed_with_items_waiting_is_looked_at(looking, group):
    looking.notes.note(looking.now - 40, Stage.CLOSE, waiting=1, group=group)
    assert looking.spans() == [(40, 39), RECENTLY]


@pytest.mark.parametrize("group", [0, 1])
def test_a_minute_that_is_opened_and_not_closed_is_looked_at(looking, group):
    looking.notes.note(looking.now - 40, Stage.OPEN, group=group)
    assert looking.spans() == [(40, 39), RECENTLY]


def test_minutes_without_a_note_are_looked_at_however_long_ago_they_were(looking):
    looking.clock.move(timedelta(days=2))
    first_that_was_not_closed = 1
    assert looking.spans() == [(first_that_was_not_closed, None)]


def test_a_minute_with_waiting_items_is_read_until_an_audit_finds_none(looking):
    stuck = looking.now - 300
    looking.notes = Notes()
    looking.notes.raise_watermark(Watermark(minute=stuck - 1))
    for minute in range(stuck, looking.now - 1):
        looking.notes.note(minute, Stage.AUDIT if minute < looking.now - 60 else Stage.CLOSE)
    looking.notes.note(stuck, Stage.CLOSE, waiting=2, group=1)
    looking.unfinished = unfinished(looking.notes, looking.clock)
    assert looking.spans() == [(300, 299), RECENTLY]
    looking.notes.note(stuck, Stage.AUDIT, group=1)
    looking.clock.move(KEPT)
    assert looking.spans() == [RECENTLY]


def test_a_first_attempt_may_run_in_every_minute_that_is_not_audited(looking):
    stuck = looking.now - 3 * 24 * 60
    looking.notes.note(stuck, Stage.CLOSE)
    looking.notes._watermark = Watermark(minute=stuck - 1)
    for minute in range(stuck + 1, looking.now - 60):
        looking.notes.note(minute, Stage.AUDIT)
    assert looking.spans("running") == [(stuck_back := 3 * 24 * 60, stuck_back - 1), (60, None)]
    assert looking.spans() == [RECENTLY]


def test_before_the_first_sweep_every_minute_is_looked_at(looking):
    assert unfinished(Notes(), looking.clock).minutes() == EVERY


def test_passes_of_an_earlier_epoch_and_of_a_clock_that_is_ahead_do_not_count(looking):
    mark = looking.notes.watermark()
    assert looking.notes.put_back(replace(mark, epoch=1))
    assert looking.spans() == [(60, None)]


def test_many_minutes_are_joined_to_few_spans_that_cover_them_all(looking):
    dirty = list(range(58, 12, -3))
    for back in dirty:
        looking.notes.note(looking.now - back, Stage.CLOSE, waiting=1)
    spans = looking.spans()
    assert 1 <= len(spans) <= SPANS_MAX
    assert all(any(first >= back > (-1 if last is None else last) for first, last in spans) for back in dirty)
    assert spans[-1][1] is None


def test_the_passes_are_read_again_after_half_a_minute(looking):
    assert looking.spans() == [RECENTLY]
    looking.notes.note(looking.now - 40, Stage.CLOSE, waiting=1)
    looking.clock.move(KEPT / 2)
    assert looking.spans() == [RECENTLY]
    looking.clock.move(KEPT / 2)
    assert looking.spans()[0] == (40, 39)


def test_a_span_is_cut_by_the_instants_of_a_list():
    first, second, third, fourth = (instants.start_of(minute) for minute in range(4))
    assert Between(first, third).cut(second, None) == (second, third)
    assert Between(first, None).cut(None, third) == (first, third)
    assert Between(None, second).cut(first, fourth) == (first, second)
    assert Between(first, second).cut(second, None) is None
    assert Between(third, None).cut(None, third) is None
