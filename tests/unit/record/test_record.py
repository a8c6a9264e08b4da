"""The recorder over events in memory: one event a version and one entry in the feed, whatever dies or comes twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from functions.record.changes import Change, change_of
from functions.record.payments import event_of
from functions.record.record import Recorded, Recorder
from postdate.domain import money, settlement
from postdate.domain.errors import Unavailable, Unreadable
from postdate.domain.event import Event
from postdate.domain.payment import Payment, State, Terms
from postdate.domain.posting import Posting
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import item_id
from postdate.stores import payment_row
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.pointers import pointer_attributes
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, ManualClock, Scripted, unique

FAR = START + 60 * MINUTE
STREAM = "arn:aws:dynamodb:eu-central-1:1:table/payments/stream/2026-11-18T10:05:00.000"


class Death(BaseException):
    """The worker ends here."""


class ScriptedEvents(Scripted, MemoryEvents):
    def put(self, events: Any, *, after: Any) -> dict[str, int]:
        self._happens("put")
        return super().put(events, after=after)

    def append(self, page: FeedPage) -> bool:
        self._happens("append")
        return super().append(page)

    def drop(self, *, before: datetime) -> None:
        """Removes what was recorded before this instant."""
        for key, (event, _) in [*self._events.items()]:
            if event.recorded_at is not None and event.recorded_at < before:
                del self._events[key]
        for place, page in [*self._pages.items()]:
            if page.recorded_at < before:
                del self._pages[place]

    def feed(self, tenant: str = "demo") -> list[FeedEntry]:
        return [entry for page in self.pages(tenant, limit=10_000) for entry in page.entries]


@dataclass(slots=True)
class World:
    events: ScriptedEvents
    clock: ManualClock
    # The tenant and the ids of events in each letter about deliveries.
    letters: list[tuple[str, list[str]]] = field(default_factory=list)
    takes_letters: bool = True

    def worker(self, notify: Callable[[str, Sequence[Event]], None] | None = None, **more: Any) -> Recorder:
        return Recorder(
            events=self.events,
            readers={"payments": event_of},
            notify=notify or _nobody,
            bury=self.bury,
            clock=self.clock,
            **more,
        )

    def bury(self, tenant: str, ids: Sequence[str]) -> bool:
        if self.takes_letters:
            self.letters.append((tenant, list(ids)))
        return self.takes_letters

    def event(self, sequence: int, payment: Payment) -> Event:
        (entry,) = (each for each in self.events.feed(payment.tenant) if each.sequence == sequence)
        return self.events.listed(payment.tenant, [entry])[entry]


def _nobody(tenant: str, events: Sequence[Event]) -> None:
    """No tenant of these tests has a subscription."""


@pytest.fixture
def world() -> World:
    return World(ScriptedEvents(), ManualClock())


def payment(number: int = 1, *, tenant: str = "demo") -> Payment:
    body = unique(number)
    posting = money.register(
        Terms(payer="alice", payee="bob", amount=100, description="rent", metadata=(("order", "1"),)),
        id=item_id("pay", PLAN.slot(FAR, body), body),
        tenant=tenant,
        due_at=FAR,
        now=START,
    ).signed("key:k1")
    assert posting.after is not None
    return posting.after


def then(before: Payment, step: Callable[..., Posting | None], **given: Any) -> Payment:
    posting = step(before, **given)
    assert posting is not None
    assert posting.after is not None
    return posting.signed("function:settle").after or before


def image(payment: Payment) -> dict[str, Any]:
    return payment_row.attributes_of(payment, listing_shards=2)


def change(before: Payment | None, after: Payment, number: int = 1) -> Change:
    record = {
        "eventName": "MODIFY" if before else "INSERT",
        "eventSourceARN": STREAM,
        "dynamodb": {
            "Keys": {name: image(after)[name] for name in ("slot", "id")},
            "SequenceNumber": str(number),
            "NewImage": image(after),
            **({"OldImage": image(before)} if before else {}),
        },
    }
    found = change_of(record)
    assert found is not None
    return found


def history(first: Payment, edits: int) -> list[Change]:
    versions = [first]
    for number in range(edits):
        versions.append(then(versions[-1], money.edit, now=START, amount=200 + number, why="changed amount"))
    return [change(before, after, place) for place, (before, after) in enumerate(pairwise([None, *versions]))]


def test_each_step_of_a_payment_is_an_event_with_its_author_and_what_it_changed(world: World) -> None:
    first = payment()
    edited = then(first, money.edit, now=START + SECOND, amount=150, why="changed amount")
    moved = then(edited, money.edit, now=START, due_at=FAR + MINUTE, why="changed scheduled_time")
    retry = RetryPolicy(max_attempts=2, initial_seconds=1, jitter=False)
    stumbled = then(moved, settlement.stumble, now=FAR + MINUTE, why="conflict", retry=retry, draw=0.0)
    parked = then(stumbled, settlement.stumble, now=FAR + MINUTE, why="conflict", retry=retry, draw=0.0)
    settled = then(parked, settlement.settle, now=FAR + 2 * MINUTE)
    steps = [first, edited, moved, stumbled, parked, settled]
    world.worker().record([change(a, b) for a, b in pairwise([None, *steps])])

    told = world.events.of(world.event(1, first).subject, limit=100)
    assert [each.type.removeprefix("payment.") for each in told] == [
        *("scheduled", "changed", "rescheduled", "executing", "parked", "completed"),
    ]
    assert [each.sequence for each in told] == [1, 2, 3, 4, 5, 6]
    assert (told[0].actor.type, told[0].actor.id) == ("key", "k1")
    assert (told[5].actor.type, told[5].actor.id) == ("function", "settle")
    assert "before" not in told[0].data
    assert told[1].data["before"] == {"amount": 100}
    assert told[1].data["after"]["amount"] == 150
    assert told[1].occurred_at == START + SECOND
    assert told[5].data["before"] == {"status": "EXECUTING", "error_message": "conflict", "attempts": 2}
    assert told[5].accounts == ("alice", "bob")


@pytest.mark.parametrize("end", [State.FAILED, State.CANCELLED])
def test_the_end_of_a_payment_is_told(world: World, end: State) -> None:
    first = payment()
    ended = (
        then(first, money.cancel, now=START)
        if end is State.CANCELLED
        else then(first, settlement.fail, now=FAR, code="insufficient_funds", why="too little")
    )
    world.worker().record([change(None, first), change(first, ended)])
    assert world.event(2, first).type == f"payment.{end.value.lower()}"
    assert world.event(2, first).data["after"]["status"] == end.value


def test_a_pointer_a_longer_lease_and_a_removed_row_are_no_events(world: World) -> None:
    first = payment()
    moved = then(first, money.edit, now=START, due_at=FAR + MINUTE, why="changed scheduled_time")
    slot = PLAN.slot(moved.due_at, unique(1))
    pointer = replace(change(None, first), after=pointer_attributes(moved, slot))
    assert world.worker().record([pointer, change(first, replace(first, moved_at=FAR))]).events == []
    removed = {
        "eventSourceARN": STREAM,
        "dynamodb": {"Keys": {}, "SequenceNumber": "1", "OldImage": image(first)},
    }
    assert change_of(removed) is None


def test_a_record_that_comes_again_makes_no_second_event(world: World) -> None:
    changes = history(payment(), 5)
    world.worker().record(changes)
    before = world.events.feed()
    assert len(before) == 6
    for batch in (changes, changes[2:4], [*changes, *changes]):
        recorded = world.worker().record(batch)
        assert recorded.doubled == len({each.number for each in batch})
    assert world.events.feed() == before


@pytest.mark.parametrize("call", ["put", "append"])
def test_a_worker_that_dies_leaves_nothing_out(world: World, call: str) -> None:
    """Before or after the rows are written: the next worker lists what is not listed."""
    changes = history(payment(), 3)

    def die() -> None:
        raise Death

    world.events.before[call].append(die)
    with pytest.raises(Death):
        world.worker().record(changes)
    other = history(payment(2), 3)
    world.worker().record(other)
    world.worker().record(changes)
    listed = world.events.feed()
    assert len(listed) == len(set(listed)) == 8


def test_an_append_whose_answer_was_lost_is_not_repeated(world: World) -> None:
    changes = history(payment(), 3)
    append = MemoryEvents.append
    pages: list[FeedPage] = []

    def made_and_lost(self: MemoryEvents, page: FeedPage) -> bool:
        pages.append(page)
        done = append(self, page)
        return done and len(pages) > 1

    world.events.append = made_and_lost.__get__(world.events)  # type: ignore[method-assign]
    world.worker().record(changes)
    assert len(world.events.feed()) == 4


def test_a_paused_writer_hides_no_event_from_a_follower(world: World) -> None:
    """Before it appends its page, others append theirs and a follower reads on: its entries come behind that."""
    slow, fast = history(payment(1), 2), history(payment(2), 2)
    seen: list[FeedEntry] = []

    def meanwhile() -> None:
        world.worker().record(fast)
        seen.extend(world.events.feed())

    world.events.before["append"].append(meanwhile)
    world.worker().record(slow)
    assert len(seen) == 3
    assert world.events.feed()[:3] == seen
    assert len(world.events.feed()) == 6


def test_a_worker_that_comes_late_with_an_old_batch_changes_no_order(world: World) -> None:
    """The old batch was given to another worker meanwhile, and the payment changed further."""
    changes = history(payment(), 3)

    def meanwhile() -> None:
        world.worker().record(changes)

    world.events.before["append"].append(meanwhile)
    world.worker().record(changes[:2])
    assert [entry.sequence for entry in world.events.feed()] == [1, 2, 3, 4]


def test_pages_are_numbered_without_a_gap_and_never_go_back_in_time(world: World) -> None:
    workers = [world.worker() for _ in range(3)]
    for number in range(9):
        workers[number % 3].record(history(payment(number), 1))
        world.clock.move(timedelta(seconds=-5 if number % 2 else 3))
    pages = world.events.pages("demo", limit=100)
    assert [page.number for page in pages] == list(range(1, 10))
    assert [page.recorded_at for page in pages] == sorted(page.recorded_at for page in pages)
    assert len({page.log for page in pages}) == 1


def test_a_large_batch_fills_several_pages_in_order(world: World) -> None:
    world.worker().record(history(payment(), 249))
    assert [len(page.entries) for page in world.events.pages("demo", limit=9)] == [100, 100, 50]
    assert [entry.sequence for entry in world.events.feed()] == list(range(1, 251))


def test_each_tenant_has_a_feed_of_its_own_and_stops_no_other(world: World) -> None:
    def unavailable() -> None:
        raise Unavailable

    world.events.before["put"].append(unavailable)
    mine, others = change(None, payment(1), 1), change(None, payment(2, tenant="other"), 2)
    recorded = world.worker().record([mine, others])
    assert recorded.failed == {"1"}
    assert (len(world.events.feed("demo")), len(world.events.feed("other"))) == (0, 1)


def test_a_record_that_cannot_be_read_stops_no_other(world: World) -> None:
    broken = change(None, payment(1), 1)
    broken.after["status"] = {"S": "UNHEARD_OF"}
    recorded: Recorded = world.worker().record([broken, change(None, payment(2), 2)])
    assert [(each.number, type(error)) for each, error in recorded.poisoned] == [("1", Unreadable)]
    assert len(world.events.feed()) == 1


def test_no_event_of_a_payment_has_fields_that_are_not_meant_to_be_told(world: World) -> None:
    world.worker().record(history(payment(), 1))
    allowed = {
        *("status", "from_account_id", "to_account_id", "amount", "funding", "scheduled_time"),
        *(
            "description",
            "metadata",
            "attempts",
            "next_attempt_at",
            "executed_at",
            "error_code",
            "error_message",
        ),
    }
    for event in world.events.of(world.event(1, payment()).subject, limit=10):
        assert set(event.data) <= {"before", "after", "reason"}
        assert set(event.data["after"]) | set(event.data.get("before", {})) <= allowed


def test_subscribers_are_told_what_is_listed_and_again_until_they_could_be_told(world: World) -> None:
    told: list[tuple[str, list[int], int]] = []

    def notify(tenant: str, events: Sequence[Event]) -> None:
        told.append((tenant, [event.sequence for event in events], len(world.events.feed(tenant))))
        if len(told) == 1:
            raise Unavailable

    recorder = world.worker(notify)
    assert recorder.record([change(None, payment())]).failed == {"1"}
    assert recorder.record([change(None, payment())]).failed == set()
    assert told == [("demo", [1], 1), ("demo", [1], 1)]


def unreadable_of_demo(tenant: str, events: Sequence[Event]) -> None:
    if tenant == "demo":
        raise Unreadable("a subscription was written by newer code")


def test_a_subscription_that_cannot_be_read_stops_no_other_tenant_and_no_bus(world: World) -> None:
    published: list[str] = []
    recorder = world.worker(
        unreadable_of_demo, publish=lambda tenant, events: published.extend(event.id for event in events)
    )
    mine, others = change(None, payment(1), 1), change(None, payment(2, tenant="other"), 2)
    recorded = recorder.record([mine, others])
    assert recorded.failed == set()
    assert (len(world.events.feed("demo")), len(world.events.feed("other"))) == (1, 1)
    assert world.letters == [("demo", [f"evt_1_{payment(1).id}"])]
    assert len(published) == 2


def test_deliveries_that_get_no_letter_make_their_records_come_again(world: World) -> None:
    world.takes_letters = False
    recorder = world.worker(unreadable_of_demo)
    assert recorder.record([change(None, payment())]).failed == {"1"}


def test_a_letter_about_deliveries_stays_below_the_size_of_a_message(world: World) -> None:
    world.worker(unreadable_of_demo).record(history(payment(), 600))
    assert [len(ids) for _, ids in world.letters] == [500, 101]


def test_a_writer_that_was_refused_waits_longer_each_time_and_reads_the_pages_behind_its_pause(
    world: World,
) -> None:
    other, began = world.worker(), world.clock.now()
    waits: list[timedelta] = []

    def faster() -> None:
        waits.append(world.clock.now() - began - sum(waits, timedelta()))
        # The page of another writer, which is there at the next look.
        number = len(waits) + 1
        tried = world.events.before["append"].copy()
        world.events.before["append"].clear()
        other.record([change(None, payment(number))])
        world.events.before["append"] = tried

    world.events.before["append"].extend([faster] * 9)
    assert not world.worker(draw=lambda: 1.0).record([change(None, payment(1))]).failed
    longest = [10, 20, 40, 80, 160, 320, 500, 500]
    assert [wait // timedelta(milliseconds=1) for wait in waits] == [0, *longest]
    assert len(world.events.feed()) == 10


class Meanwhile(ManualClock):
    """Something happens while somebody sleeps."""

    happens: Callable[[], object]

    def sleep_until(self, instant: datetime) -> None:
        super().sleep_until(instant)
        self.happens()


def test_pages_that_others_write_during_a_pause_refuse_nobody_again() -> None:
    clock = Meanwhile()
    world = World(ScriptedEvents(), clock)
    clock.happens = lambda: world.worker().record([change(None, payment(3))])
    append, tried = world.events.append, list[int]()

    def noted(page: FeedPage) -> bool:
        if page.entries[0].id == payment(1).id:
            tried.append(page.number)
            if len(tried) == 1:
                world.worker().record([change(None, payment(2))])
        return append(page)

    world.events.append = noted  # type: ignore[method-assign]
    world.worker().record([change(None, payment(1))])
    assert tried == [1, 3]
