"""The feed over events in memory: in the order of their recording, by cursors that miss nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from functions.api.events.feed import FeedAnswer, page
from functions.api.events.query import FeedQuery
from functions.api.events.waiting import OWNER, ROOM, WaitingSeats
from postdate.domain.errors import ValidationFailed
from postdate.domain.event import Event, Subject
from postdate.domain.flow import Room
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.flow_memory import MemoryFlow
from tests.unit.doubles import MINUTE, SECOND, START, ManualClock


@dataclass(slots=True)
class Recording:
    events: MemoryEvents = field(default_factory=MemoryEvents)
    clock: ManualClock = field(default_factory=ManualClock)
    pages: int = 0
    log: str = "1a"
    flow: MemoryFlow = field(default_factory=MemoryFlow)

    def record(
        self, *sequences: int, id: str = "pay_1", type: str = "payment.changed", **fields: Any
    ) -> None:
        """Records one page now."""
        subject = Subject(tenant="demo", kind=type.partition(".")[0], id=id)
        usual = Event(subject=subject, type=type, sequence=1, occurred_at=START, recorded_at=self.clock.now())
        events = [replace(usual, sequence=sequence, **fields) for sequence in sequences]
        self.events.put(events, after={"demo": self.pages})
        self.pages += 1
        assert self.events.append(
            FeedPage(
                tenant="demo",
                log=self.log,
                number=self.pages,
                recorded_at=self.clock.now(),
                entries=tuple(FeedEntry.of(event) for event in events),
            )
        )

    def shown(self, **parameters: str) -> FeedAnswer:
        seats = WaitingSeats(flow=self.flow, clock=self.clock, total=4)
        return page(FeedQuery.of("demo", parameters), self.events, clock=self.clock, seats=seats, id="r")

    def sequences(self, **parameters: str) -> list[int]:
        return [event.sequence for event in self.shown(**parameters).events]

    def walked(self, **parameters: str) -> Iterator[Event]:
        """All pages to the last."""
        cursor: Mapping[str, str] = {}
        while True:
            shown = self.shown(**parameters, **cursor)
            yield from shown.events
            if shown.cursor is None:
                return
            cursor = {"cursor": shown.cursor}


@pytest.fixture
def recording() -> Recording:
    return Recording()


def test_an_empty_feed_has_no_cursor_at_all(recording: Recording) -> None:
    assert recording.shown() == FeedAnswer(events=[], cursor=None, follow=None)


@pytest.mark.parametrize("limit", ["1", "2", "3", "7", "100"])
def test_pages_of_any_size_show_every_event_once_in_order(recording: Recording, limit: str) -> None:
    for start in (1, 4, 5, 9):
        recording.record(*range(start, start + 3 if start != 4 else 5))
    expected = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11]
    assert [event.sequence for event in recording.walked(limit=limit)] == expected
    assert [event.sequence for event in recording.walked(limit=limit, order="desc")] == expected[::-1]


def test_a_follower_goes_on_behind_what_was_shown_whenever_it_comes_back(recording: Recording) -> None:
    recording.record(1, 2)
    first = recording.shown()
    assert first.cursor is None
    assert first.follow is not None
    assert recording.sequences(cursor=first.follow) == []
    recording.record(3)
    recording.record(4)
    second = recording.shown(cursor=first.follow, limit="1")
    assert [event.sequence for event in second.events] == [3]
    assert second.follow is not None
    assert recording.sequences(cursor=second.follow) == [4]


def test_a_follower_keeps_its_place_when_nothing_new_passes_its_filter(recording: Recording) -> None:
    recording.record(1, type="payment.completed")
    follow = recording.shown(type="payment.completed").follow
    recording.record(2, 3)
    again = recording.shown(type="payment.completed", cursor=follow or "")
    assert again.events == []
    assert again.follow is not None
    recording.record(4, type="payment.completed")
    assert recording.sequences(type="payment.completed", cursor=again.follow) == [4]


def test_a_filter_is_by_type_subject_and_account(recording: Recording) -> None:
    recording.record(1, type="payment.scheduled", accounts=("alice", "bob"))
    recording.record(2, type="payment.completed", accounts=("alice", "bob"))
    recording.record(3, type="task.dead", id="task_1")
    recording.record(4, id="pay_2", accounts=("carol", "bob"))
    assert recording.sequences(type="payment.*") == [1, 2, 4]
    assert recording.sequences(type="payment.completed") == [2]
    assert recording.sequences(type="*") == [1, 2, 3, 4]
    assert recording.sequences(subject_id="task_1") == [3]
    assert recording.sequences(account_id="bob") == [1, 2, 4]
    assert recording.sequences(account_id="alice", type="payment.scheduled") == [1]


def test_a_span_of_time_is_by_the_instant_of_recording(recording: Recording) -> None:
    for number in range(1, 30):
        recording.record(number)
        recording.clock.move(MINUTE)
    since, until = (START + 10 * MINUTE).isoformat(), (START + 20 * MINUTE).isoformat()
    assert recording.sequences(since=since, limit="100") == list(range(11, 30))
    assert recording.sequences(until=until, limit="100") == list(range(1, 21))
    assert recording.sequences(since=since, until=until, limit="3") == [11, 12, 13]
    assert recording.sequences(since=since, until=until, order="desc", limit="100") == list(range(20, 10, -1))
    assert recording.sequences(since=(START + 60 * MINUTE).isoformat()) == []


def test_a_reader_may_wait_for_the_next_event(recording: Recording) -> None:
    recording.record(1)
    follow = recording.shown().follow or ""
    began = recording.clock.now()
    assert recording.sequences(cursor=follow, wait_seconds="1") == []
    assert recording.clock.now() == began + SECOND

    sleep = recording.clock.sleep_until

    def meanwhile(instant: Any) -> None:
        recording.clock.sleep_until = sleep  # type: ignore[method-assign]
        sleep(instant)
        recording.record(2)

    recording.clock.sleep_until = meanwhile  # type: ignore[method-assign]
    assert recording.sequences(cursor=follow, wait_seconds="5") == [2]
    assert recording.clock.now() < began + 2 * SECOND


def test_a_wait_lasts_as_long_as_it_asks_and_gives_its_seat_back(recording: Recording) -> None:
    began = recording.clock.now()
    assert recording.sequences(wait_seconds="20") == []
    assert recording.clock.now() == began + 18 * SECOND
    assert recording.flow.room(OWNER, ROOM).runs == {}


@pytest.mark.parametrize("seated", [["demo/a", "demo/b"], ["x/a", "y/b", "x/c", "y/d"]])
def test_without_a_seat_no_wait_holds_a_copy_of_the_function_for_long(
    recording: Recording, seated: list[str]
) -> None:
    """All tenants share the copies. One of them has half of the seats."""
    began = recording.clock.now()
    taken = Room(runs=dict.fromkeys(seated, began + 20 * SECOND), version=1)
    assert recording.flow.change_room(OWNER, ROOM, Room(), taken)
    assert recording.sequences(wait_seconds="20") == []
    assert recording.clock.now() == began + 2 * SECOND
    recording.clock.move(18 * SECOND)
    again = recording.clock.now()
    assert recording.sequences(wait_seconds="20") == [], "the seats of requests that died are free again"
    assert recording.clock.now() == again + 18 * SECOND


def test_a_cursor_of_a_feed_that_expired_leads_to_the_begin_of_the_new_one(recording: Recording) -> None:
    for number in range(1, 6):
        recording.record(number)
    follow = recording.shown().follow or ""
    new = Recording(log="2b", clock=recording.clock)
    new.clock.move(timedelta(days=500))
    new.record(6)
    assert new.sequences(cursor=follow) == [6]
    new.record(7)
    for number in range(8, 14):
        new.record(number)
    assert new.sequences(cursor=follow) == list(range(6, 14))


def test_many_events_that_pass_no_filter_end_a_page_early(recording: Recording) -> None:
    for number in range(1, 1102):
        recording.record(number)
    recording.record(5000, type="payment.failed")
    first = recording.shown(type="payment.failed")
    assert (first.events, first.partial) == ([], True)
    assert [event.sequence for event in recording.walked(type="payment.failed")] == [5000]


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "Payment.completed"},
        {"type": "payment."},
        {"order": "newest"},
        {"wait_seconds": "21"},
        {"wait_seconds": "-1"},
        {"since": "yesterday"},
        {"limit": "0"},
        {"cursor": "x"},
        {"status": "PENDING"},
    ],
)
def test_wrong_parameters_of_the_feed_are_refused(recording: Recording, parameters: dict[str, str]) -> None:
    with pytest.raises(ValidationFailed):
        recording.shown(**parameters)


def test_a_cursor_is_good_for_its_tenant_and_filter_alone(recording: Recording) -> None:
    recording.record(1)
    follow = recording.shown().follow or ""
    for tenant, more in (("demo", {"type": "payment.*"}), ("demo", {"order": "desc"}), ("other", {})):
        with pytest.raises(ValidationFailed):
            FeedQuery.of(tenant, {"cursor": follow, **more})
    FeedQuery.of("demo", {"cursor": follow, "wait_seconds": "3"})
