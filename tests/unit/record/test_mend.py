"""Missing events are found by their numbers and made from histories, once."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from functions.record import items, payments
from functions.record.changes import Change
from functions.record.letters import Rereader
from functions.record.mend import IN_STREAM, NEAR, EventsChecked, Gap, Mender
from postdate.domain import money, payment_event, settlement
from postdate.domain.errors import Unreadable
from postdate.domain.event import Event, Subject
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.stores import task_row
from tests.unit.doubles import MINUTE, SECOND, START, a_task, claimed
from tests.unit.record.test_record import FAR, World, change, payment, then, world  # noqa: F401
from tests.unit.record.test_record import history as history_of

LATER = IN_STREAM + MINUTE
KEPT = timedelta(days=400)


class Letters:
    """A queue of letters, and the records of a stream."""

    def __init__(self, *bodies: dict[str, Any]) -> None:
        self.lying = [json.dumps(body) for body in bodies]
        self.hidden: list[str] = []
        self.seen: set[str] = set()
        self.records: list[dict[str, Any]] = []

    def receive_message(self, **asked: Any) -> dict[str, Any]:
        self.hidden, self.lying = [*self.hidden, *self.lying], []
        shown = [{"Body": body, "ReceiptHandle": body} for body in self.hidden if body not in self.seen]
        self.seen |= set(self.hidden)
        return {"Messages": shown} if shown else {}

    def delete_message(self, **asked: Any) -> None:
        self.hidden.remove(asked["ReceiptHandle"])

    def get_shard_iterator(self, **asked: Any) -> dict[str, Any]:
        return {"ShardIterator": asked["SequenceNumber"]}

    def get_records(self, **asked: Any) -> dict[str, Any]:
        """One record for an iterator, or none. The next iterator is that of the next number; None at the end."""
        first = int(asked["ShardIterator"])
        numbers = [int(each["dynamodb"]["SequenceNumber"]) for each in self.records]
        records = [each for each, number in zip(self.records, numbers, strict=True) if number == first]
        following = {"NextShardIterator": str(first + 1)} if first <= max(numbers, default=0) else {}
        return {"Records": records} | following


def history(world: World) -> list[Payment]:  # noqa: F811
    """Three versions of a payment, of which only the first and the last are recorded."""
    first = payment()
    second = then(first, money.edit, now=START + SECOND, amount=150, why="changed amount")
    third = then(second, money.edit, now=START + 2 * SECOND, amount=200, why="changed amount")
    assert not world.worker().record([change(None, first), change(second, third)]).failed
    world.clock.move(LATER)
    return [first, second, third]


def mender(world: World, *stored: Payment | Task) -> Mender:  # noqa: F811
    known = {item.id: item for item in stored}

    def load(ids: Iterable[str]) -> dict[str, Payment | Task]:
        return {id: known[id] for id in ids if id in known}

    return Mender(events=world.events, recorder=world.worker(), load=load, kept=KEPT, clock=world.clock)


def check(world: World, *stored: Payment | Task) -> EventsChecked:  # noqa: F811
    since = max(START, world.clock.now() - timedelta(days=3))
    return mender(world, *stored).check("demo", since=since, after=None, has_time=lambda: True)


def gap(event_id: str, last: int, *, count: int = 1) -> Gap:
    return Gap(event_id=event_id, last=last, count=count)


def created() -> Event:
    subject = Subject(tenant="demo", kind="tenant", id="demo")
    return Event(subject=subject, type="tenant.created", sequence=1, occurred_at=START)


def account(sequence: int, at: datetime) -> Event:
    subject = Subject(tenant="demo", kind="account", id="alice")
    return Event(subject=subject, type="account.changed", sequence=sequence, occurred_at=at)


def test_a_missing_event_is_made_from_the_history_and_listed_once(world: World) -> None:  # noqa: F811
    third = history(world)[-1]
    found = check(world, third)
    assert (found.subjects, found.left, found.after) == (1, [], None)
    (event,) = (
        each
        for each in world.events.of(Subject(tenant="demo", kind="payment", id=third.id), limit=9)
        if each.reconstructed
    )
    assert found.filled == [event.id]
    assert (event.sequence, event.type, event.actor.id) == (2, "payment.changed", "settle")
    assert check(world, third).filled == []
    assert [entry.sequence for entry in world.events.feed()] == [1, 3, 2]


def test_a_version_that_may_still_be_in_its_stream_is_left_alone(world: World) -> None:  # noqa: F811
    third = history(world)[-1]
    world.clock.move(-2 * MINUTE)
    assert check(world, third).filled == []
    world.clock.move(2 * MINUTE)
    assert check(world, third).filled != []


def test_an_event_that_no_history_tells_of_is_named(world: World) -> None:  # noqa: F811
    history(world)
    found = check(world)
    assert (found.filled, found.left) == ([], [gap(f"evt_2_{payment().id}", 2)])


def test_a_task_tells_its_claims_and_its_ends(world: World) -> None:  # noqa: F811
    task = claimed(a_task())
    told = mender(world, task)
    found = EventsChecked()
    world.clock.move(LATER)
    told.fill([Subject(tenant="demo", kind="task", id=task.id)], found, age=NEAR)
    subject = Subject(tenant="demo", kind="task", id=task.id)
    assert [event.type for event in world.events.of(subject, limit=9)] == ["task.registered", "task.started"]
    row = task_row.attributes_of(task, listing_shards=2, retention=MINUTE)
    made = items.event_of(
        Change(table="items", number="1", keys={"id": row["id"], "slot": row["slot"]}, before={}, after=row)
    )
    assert made is not None
    assert world.events.of(subject, limit=9)[-1].type == "task.started"


def rereader(world: World, letters: Letters, *stored: Payment | Task) -> Rereader:  # noqa: F811
    known = {item.id: item for item in stored}
    return Rereader(
        url="events-dlq",
        sqs=letters,
        streams=letters,
        mender=mender(world, *stored),
        recorder=world.worker(),
        load=lambda ids: {id: known[id] for id in ids if id in known},
        clock=world.clock,
    )


def test_a_letter_goes_when_its_events_are_recorded(world: World) -> None:  # noqa: F811
    third = history(world)[-1]
    gone = {"table": "payments", "keys": {"slot": "x", "id": payment(9).id}, "number": "1"}
    letters = Letters({"table": "payments", "keys": {"slot": "x", "id": third.id}, "number": "2"}, gone)
    reread = rereader(world, letters, third).read(lambda: True)
    assert (reread.deleted, reread.kept) == (1, 1)
    assert [json.loads(body) for body in letters.hidden] == [gone]
    assert [entry.sequence for entry in world.events.feed()] == [1, 3, 2]


def test_a_letter_about_a_young_version_stays(world: World) -> None:  # noqa: F811
    third = history(world)[-1]
    world.clock.move(-IN_STREAM)
    letters = Letters({"table": "payments", "keys": {"slot": "x", "id": third.id}, "number": "2"})
    assert rereader(world, letters, third).read(lambda: True).kept == 1


def test_a_stretch_of_a_stream_is_recorded_again(world: World) -> None:  # noqa: F811
    first = payment()
    letters = Letters(
        {
            "DDBStreamBatchInfo": {
                "streamArn": "arn:aws:dynamodb:eu-central-1:1:table/payments/stream/1",
                "shardId": "shard-1",
                "startSequenceNumber": "7",
                "endSequenceNumber": "9",
            }
        }
    )
    made, others, beyond = change(None, first), change(None, payment(2)), change(None, payment(3))
    letters.records = [
        {
            "eventName": "INSERT",
            "dynamodb": {"SequenceNumber": number, "Keys": dict(each.keys), "NewImage": dict(each.after)},
        }
        for number, each in (("7", made), ("9", others), ("10", beyond))
    ]
    assert rereader(world, letters).read(lambda: True).deleted == 1
    assert [entry.id for entry in world.events.feed()] == [payment(1).id, payment(2).id]


def test_a_stretch_that_the_stream_no_longer_has_stays_a_letter(world: World) -> None:  # noqa: F811
    gone = {
        "streamArn": "arn:aws:dynamodb:eu-central-1:1:table/payments/stream/1",
        "shardId": "shard-1",
        "startSequenceNumber": "9",
        "endSequenceNumber": "9",
    }
    assert rereader(world, Letters({"DDBStreamBatchInfo": gone})).read(lambda: True).kept == 1


def test_a_letter_about_deliveries_goes_when_they_are_made(world: World) -> None:  # noqa: F811
    told: list[tuple[str, list[int]]] = []
    newer = [True]

    def notify(tenant: str, events: Sequence[Event]) -> None:
        if newer:
            raise Unreadable
        told.append((tenant, [event.sequence for event in events]))

    recorder = world.worker(notify)
    recorder.record([change(None, payment())])
    ((tenant, ids),) = world.letters
    letters = Letters({"tenant": tenant, "undelivered": ids})
    reading = replace(rereader(world, letters), recorder=recorder)
    assert reading.read(lambda: True).kept == 1
    newer.clear()
    letters.seen.clear()
    assert reading.read(lambda: True).deleted == 1
    assert told == [("demo", [1])]


def test_a_record_behind_the_event_that_a_history_made_is_not_listed_again(world: World) -> None:  # noqa: F811
    """The history told another type than the record does."""
    first = payment()
    second = then(first, money.edit, now=START + SECOND, due_at=FAR + MINUTE, why="changed scheduled_time")
    real, early = change(first, second), change(None, first)
    world.worker().record([early])
    made = payment_event.events_of_history(second, after=1)
    world.worker().record_events("demo", [replace(each, type="payment.changed") for each in made])
    told: list[list[str]] = []
    world.worker(lambda tenant, events: told.append([event.type for event in events])).record([real])
    assert [(entry.sequence, entry.type) for entry in world.events.feed()] == [
        (1, "payment.scheduled"),
        (2, "payment.changed"),
    ]
    assert told == [["payment.changed"]]


def test_a_record_whose_event_was_made_and_not_listed_is_listed_as_it_is_stored(world: World) -> None:  # noqa: F811
    first = payment()
    (made,) = payment_event.events_of_history(first, after=0)
    world.events.put([replace(made, type="payment.changed", recorded_at=START)], after={"demo": 0})
    world.worker().record([change(None, first)])
    (entry,) = world.events.feed()
    assert entry.type == "payment.changed"
    assert entry in world.events.listed("demo", [entry])


def expired(world: World, now: datetime) -> None:  # noqa: F811
    """Removes what events and pages are older than they are kept."""
    world.events.drop(before=now - KEPT)


def test_an_event_that_has_expired_is_not_made_again(world: World) -> None:  # noqa: F811
    first = payment()
    world.worker().record([change(None, first)])
    world.clock.move(timedelta(days=700))
    expired(world, world.clock.now())
    done = then(first, settlement.settle, now=world.clock.now())
    world.worker().record([change(first, done)])
    world.clock.move(timedelta(days=2))
    found = check(world, done)
    assert (found.subjects, found.filled, found.left) == (1, [], [])
    assert [entry.sequence for entry in world.events.feed()] == [2]


def test_an_expired_event_of_an_account_is_no_gap(world: World) -> None:  # noqa: F811
    began = world.clock.now()
    world.worker().record_events("demo", [created()])
    for sequence, day in enumerate((0, 10, 500), start=1):
        world.clock.move(began + timedelta(days=day) - world.clock.now())
        expired(world, world.clock.now())
        world.worker().record_events("demo", [account(sequence, world.clock.now())])
        assert check(world).left == []
    # The feed begins anew.
    assert [page.number for page in world.events.pages("demo", limit=9)] == [1]


def test_a_row_that_outlives_its_expiry_makes_no_gap_behind_it(world: World) -> None:  # noqa: F811
    """Expired rows are removed in any order, up to some days later."""
    world.worker().record_events("demo", [account(1, START)])
    world.clock.move(timedelta(days=500))
    world.worker().record_events("demo", [account(3, world.clock.now())])
    assert check(world).left == []


def test_a_gap_of_an_account_is_named(world: World) -> None:  # noqa: F811
    """While the first event of the tenant is there, a gap before the first stored event of the account counts too.
    Behind expired events it does not."""
    world.worker().record_events("demo", [account(2, START), account(4, START)])
    assert check(world).left == [gap(account(3, START).id, 3)]
    world.worker().record_events("demo", [created()])
    assert check(world).left == [gap(account(1, START).id, 3, count=2)]
    world.clock.move(timedelta(days=500))
    world.worker().record_events("demo", [account(7, world.clock.now()), account(9, world.clock.now())])
    assert check(world).left == [gap(account(8, START).id, 8)]


def test_an_event_that_no_history_tells_of_and_that_cannot_have_expired_is_named(
    world: World,  # noqa: F811
) -> None:
    world.worker().record_events("demo", [created()])
    first = payment()
    second = then(first, money.edit, now=START + SECOND, amount=150, why="changed amount")
    world.worker().record([change(first, second)])
    assert check(world).left == [gap(f"evt_1_{first.id}", 1)]


def test_a_stretch_that_is_not_read_to_its_end_stays_a_letter(world: World) -> None:  # noqa: F811
    letters = Letters(
        {
            "DDBStreamBatchInfo": {
                "streamArn": "arn:aws:dynamodb:eu-central-1:1:table/payments/stream/1",
                "shardId": "shard-1",
                "startSequenceNumber": "7",
                "endSequenceNumber": "9",
            }
        }
    )
    made = change(None, payment())
    images = {"SequenceNumber": "7", "Keys": dict(made.keys), "NewImage": dict(made.after)}
    letters.records = [{"eventName": "INSERT", "dynamodb": images}]
    assert rereader(world, letters).read(lambda: True).kept == 1


def test_a_row_that_no_page_lists_is_listed_and_delivered_once(world: World) -> None:  # noqa: F811
    """The worker died between the row and its page, and the record never came again."""
    told: list[list[int]] = []
    first = payment()
    second = then(first, money.edit, now=START + SECOND, amount=150, why="changed amount")
    third = then(second, money.edit, now=START + 2 * SECOND, amount=200, why="changed amount")
    world.worker().record([change(None, first)])
    made = payments.event_of(change(first, second))
    assert made is not None
    world.events.put([replace(made, recorded_at=START)], after={"demo": 1})
    world.worker().record([change(second, third)])
    world.clock.move(LATER)
    repairing = mender(world, third)
    repairing._recorder = world.worker(lambda _, events: told.append([event.sequence for event in events]))
    found = repairing.check("demo", since=START, after=None, has_time=lambda: True)
    assert (found.filled, found.left) == ([f"evt_2_{first.id}"], [])
    assert [entry.sequence for entry in world.events.feed()] == [1, 3, 2]
    assert told == [[2]]
    assert check(world, third).filled == []


def test_a_search_that_breaks_off_lists_nothing_that_a_later_page_lists(
    world: World,  # noqa: F811
) -> None:
    """The recorder would find the entry, but only behind all pages since the row."""
    long = history_of(payment(), 25)
    for each in long:
        world.worker().record([each])
        world.clock.move(SECOND)
    world.clock.move(LATER)
    looks = iter([True, False])
    repairing = mender(world)
    repairing._recorder = Refusing()  # type: ignore[assignment]
    found = repairing.check("demo", since=START, after=None, has_time=lambda: next(looks))
    assert (found.after, found.filled, found.left) == (20, [], [])
    found = repairing.check("demo", since=START, after=20, has_time=lambda: True)
    assert (found.after, found.filled, found.left) == (None, [], [])


class Refusing:
    def record_events(self, tenant: str, events: Sequence[Event]) -> None:
        raise AssertionError("nothing is to be recorded")


def test_a_search_stops_before_its_answer_is_too_large_and_goes_on_behind(world: World) -> None:  # noqa: F811
    """A state of the machine has 256 KB."""
    name = "a" * 64
    gone = [
        Event(
            subject=Subject(tenant=name, kind="account", id=f"{number:064d}"),
            type="account.changed",
            sequence=sequence,
            occurred_at=START,
        )
        for number in range(1100)
        for sequence in (1, 4)
    ]
    world.worker().record_events(name, gone)
    repairing, found, after = mender(world), list[EventsChecked](), None
    while not found or after is not None:
        found.append(repairing.check(name, since=START, after=after, has_time=lambda: True))
        after = found[-1].after
    assert [len(json.dumps(asdict(each))) < 200_000 for each in found] == [True, True, True]
    gaps = [each for part in found for each in part.left]
    assert len(gaps) == len({each.event_id for each in gaps}) == 1100
    assert {(each.last, each.count) for each in gaps} == {(3, 2)}


def test_the_first_filled_events_are_named_and_all_are_counted() -> None:
    found = EventsChecked()
    for start in (0, 60, 120):
        found.fill([f"evt_{number}" for number in range(start, start + 60)])
    assert (found.filled, found.filled_count) == ([f"evt_{number}" for number in range(100)], 180)
