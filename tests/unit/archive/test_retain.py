"""The walk that archives finished payments, over stores in memory: no payment is lost, moved twice or forgotten."""

import gzip
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from functions.archive.archive import Archiver
from functions.archive.owners import Owners
from functions.archive.retain import Retained, Retainer
from postdate.domain import payment_event, retention
from postdate.domain.errors import IdempotencyKeyReused, InvalidState, NotFound, Unavailable
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.payment import HistoryLine, Payment, State
from postdate.domain.posting import Posting
from postdate.domain.reconciled_sums import Accounts
from postdate.domain.slots import home
from postdate.stores.archived_payments import ArchivedPayments
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.slot_payments import MemorySlotPayments
from postdate.stores.vault import Vault
from postdate.stores.walks import MemoryWalks
from postdate.use_cases.auditing import Auditor
from tests.unit.api.payments.conftest import ANYBODY, FAR, Bank
from tests.unit.doubles import MINUTE, PLAN, START, Scripted

DAY = timedelta(days=1)
KEPT = timedelta(days=400)
LINE = HistoryLine(version=3, at=START, to=State.COMPLETED, why="restored", attempt=1)


class Death(BaseException):
    """The worker ends here."""


class Brisk(Retainer):
    """Passes over the minutes in which nothing can be. A night has 1,440, and a test has many nights."""

    def _minutes(self) -> Any:
        occupied = {home(id).minute for id in self.payments._ledger._payments}  # type: ignore[attr-defined]
        every = super()._minutes()
        return [each for each in sorted({*occupied, *every[-1:]}) if each in every]


class ScriptedPayments(Scripted, MemorySlotPayments):
    def remove_at(self, row: Any, at: datetime) -> bool:
        self._happens("remove_at")
        return super().remove_at(row, at)


@dataclass(slots=True)
class World:
    """A bank, the events of its payments, and their archive."""

    bank: Bank = field(default_factory=Bank)
    events: MemoryEvents = field(default_factory=MemoryEvents)
    walks: MemoryWalks = field(default_factory=MemoryWalks)
    made: type[Retainer] = Brisk
    rows: ScriptedPayments = field(init=False)

    def __post_init__(self) -> None:
        self.rows = ScriptedPayments(ledger=self.bank.ledger)

    @property
    def vault(self) -> Vault:
        return Vault(data_keys=self.bank.data_keys, clock=self.bank.clock)

    def record(self, id: str, *, without: int = 0) -> None:
        """Records the events of a payment as the recorder does, except for the version `without`."""
        payment = self.bank.stored(id)
        number = len(self.events.pages("demo", limit=10_000)) + 1
        made = [
            replace(event, recorded_at=self.bank.clock.now())
            for event in payment_event.events_of_history(payment, after=0)
            if event.sequence != without and not self.events.some([(event.subject, event.sequence)])
        ]
        self.events.put(made, after={"demo": number - 1})
        now, entries = self.bank.clock.now(), tuple(map(FeedEntry.of, made))
        assert self.events.append(
            FeedPage(tenant="demo", log="1a", number=number, recorded_at=now, entries=entries)
        )

    def archive_events(self) -> None:
        Archiver(events=self.events, archive=self.bank.archive, vault=self.vault, clock=self.bank.clock).run(
            "demo", has_time=lambda: True
        )

    def retainer(self) -> Retainer:
        """Makes a retainer, as a copy of the function that has just started."""
        return self.made(
            payments=self.rows,
            events=self.events,
            archive=self.bank.archive,
            walks=self.walks,
            owners=Owners(
                archive=self.bank.archive, events=self.events, vault=self.vault, clock=self.bank.clock
            ),
            shards=PLAN,
            clock=self.bank.clock,
            kept=KEPT,
            events_kept=timedelta(days=400),
            at_once=1,
        )

    def walk(self) -> Retained:
        return self.retainer().run(has_time=lambda: True)

    def night(self) -> Retained:
        self.archive_events()
        return self.walk()

    def nights(self, count: int) -> None:
        for _ in range(count):
            self.bank.clock.move(DAY)
            self.night()

    def quiet(self, days: int) -> None:
        """Days in which no slot has a payment: a walk through them finds nothing."""
        self.bank.clock.move(days * DAY)
        assert self.walks.place is not None
        self.walks.place += days * DAY // MINUTE

    def expire(self) -> list[str]:
        """Removes expired rows, as DynamoDB does some time after the instants of removal."""
        now = self.bank.clock.now().timestamp()
        gone = [id for id, at in self.rows.removals.items() if int(at["N"]) < now]
        for id in gone:
            self.bank.ledger._payments.pop(id, None)
        return gone

    def audit(self) -> list[str]:
        audited = Auditor(ledger=self.bank.ledger, clock=self.bank.clock).audit("demo")
        assert (audited.moving, audited.unread) == ([], [])
        return [check.name for check in audited.checks if not check.ok]

    def get(self, id: str) -> Payment:
        return self.bank.changer.load("demo", id)


def with_journal() -> World:
    """The journal tells of the payer's money, so that an audit is green."""
    made = World()
    came = Movement(
        id=movement_id(START, "0" * 16),
        tenant="demo",
        type=Type.DEPOSIT,
        payer=None,
        payee="payer",
        amount=1000,
        at=START,
    )
    made.bank.ledger.post([Posting(tenant="demo", at=START, movement=came)])
    assert made.audit() == []
    return made


@pytest.fixture
def world() -> World:
    return with_journal()


def completed(world: World, **fields: Any) -> Payment:
    given = {"idempotency_key": "rent", "amount": 300, "description": "rent", "metadata": (("a", "b"),)}
    given["due_at"] = world.bank.clock.now() + 60 * MINUTE
    payment = world.bank.registered(**given | fields)
    world.bank.settle(payment)
    world.bank.clock.move(MINUTE)
    world.record(payment.id)
    return world.bank.stored(payment.id)


def left_the_table(world: World, payment: Payment) -> None:
    """Archives a payment, and removes its row when its time is over."""
    world.nights(17)
    assert world.expire() == []
    world.bank.clock.move(KEPT)
    assert world.expire() == [payment.id]
    assert world.bank.ledger.payment(payment.id) is None
    world.bank.archive.asked.clear()


def test_an_archived_payment_is_answered_by_its_id_as_it_was(world: World) -> None:
    payment = completed(world)
    left_the_table(world, payment)
    assert world.get(payment.id) == payment
    with pytest.raises(InvalidState):
        world.bank.changer.cancel(ANYBODY, payment.id, version=None)


def test_the_key_of_an_archived_payment_is_replayed_and_moves_nothing(world: World) -> None:
    payment = completed(world)
    first = world.bank.register(
        idempotency_key="rent", amount=300, description="rent", metadata=(("a", "b"),)
    )
    left_the_table(world, payment)
    before = world.bank.ledger.state
    for _ in range(2):
        again = world.bank.register(
            idempotency_key="rent", amount=300, description="rent", metadata=(("a", "b"),)
        )
        assert (again.payment, again.replayed, again.known) == (first.payment, True, True)
    assert world.bank.ledger.state == before
    with pytest.raises(IdempotencyKeyReused):
        world.bank.register(idempotency_key="rent", fingerprint="another")


def test_nothing_is_written_while_the_archive_cannot_be_read(world: World) -> None:
    payment = completed(world)
    left_the_table(world, payment)
    before = world.bank.ledger.state

    def fail() -> None:
        raise Unavailable

    for _ in range(2):
        world.bank.archive.before["get"].append(fail)
        with pytest.raises(Unavailable):
            world.bank.register(idempotency_key="rent")
    assert world.bank.ledger.state == before


def test_the_archive_is_asked_only_about_what_may_be_there(world: World) -> None:
    """An unknown id of a younger slot, and a payment that is in the table, cost nothing more."""
    payment = completed(world)
    world.nights(17)
    world.bank.archive.asked.clear()
    world.get(payment.id)
    world.bank.register(idempotency_key="rent")
    young = PLAN.item_id("pay", world.bank.clock.now() - KEPT + MINUTE, bytes(10))
    with pytest.raises(NotFound):
        world.get(young)
    assert world.bank.archive.asked == []
    old = PLAN.item_id("pay", world.bank.clock.now() - KEPT - MINUTE, bytes(10))
    with pytest.raises(NotFound):
        world.get(old)
    assert len(world.bank.archive.asked) == 1


def test_another_tenant_does_not_see_an_archived_payment(world: World) -> None:
    payment = completed(world)
    left_the_table(world, payment)
    world.vault.seal("archive/nobody", "archive", "x")
    with pytest.raises(NotFound):
        world.bank.changer.load("nobody", payment.id)


@pytest.mark.parametrize("made", [Retainer, Brisk], ids=["every minute", "brisk"])
def test_the_books_agree_before_and_after(world: World, made: type[Retainer]) -> None:
    world.made = made
    payment = completed(world)
    failed = world.bank.registered(amount=5, due_at=FAR + DAY)
    world.bank.changer.cancel(ANYBODY, failed.id, version=None)
    world.record(failed.id)
    assert world.audit() == []
    left_the_table_all = (payment.id, failed.id)
    world.nights(17)
    world.bank.clock.move(KEPT)
    assert sorted(world.expire()) == sorted(left_the_table_all)
    assert world.audit() == []
    assert world.get(failed.id).state is State.CANCELLED


@pytest.mark.parametrize("days", [399, 401])
def test_the_sums_of_a_reconciliation_agree_with_and_without_the_rows(world: World, days: int) -> None:
    """A payment counts on both sides until it may be archived, and on none from then on."""
    payment, archived = completed(world), retention.archived_at(FAR + days * DAY)
    for payments in ([payment], []):
        sums = Accounts()
        for name, available in (("payer", 700), ("payee", 300)):
            sums.add_account("demo", name, available=available, reserved=0)
        for each in payments:
            shown = {
                name: getattr(each, name)
                for name in ("tenant", "payer", "payee", "amount", "funding", "state")
            }
            sums.add_payment(each.id, **shown, archived=archived)
        for movement in world.bank.ledger._movements.values():
            shown = {name: getattr(movement, name) for name in ("tenant", "type", "payer", "payee", "amount")}
            sums.add_movement(movement.id, **shown, payment=movement.payment_id, archived=archived)
        assert bool(list(sums.suspects(after=""))) == (days < 400 and not payments)


def test_a_row_stays_for_400_days_after_its_end_its_instant_and_its_slot(world: World) -> None:
    payment = completed(world)
    early = world.bank.registered(amount=5, due_at=world.bank.clock.now() + 300 * DAY)
    world.bank.changer.cancel(ANYBODY, early.id, version=None)
    world.record(early.id)
    world.nights(17)
    world.quiet(275)
    world.nights(25)
    (ended, moved) = (int(world.rows.removals[each.id]["N"]) for each in (payment, early))
    assert datetime.fromtimestamp(ended, tz=START.tzinfo) - FAR >= KEPT
    assert datetime.fromtimestamp(moved, tz=START.tzinfo) - early.due_at >= KEPT
    assert world.expire() == []


def test_no_environment_keeps_payments_for_less() -> None:
    assert retention.kept_for(400) == KEPT
    with pytest.raises(ValueError, match="400 days at least, not for 399"):
        retention.kept_for(399)


def test_no_name_is_readable_and_every_amount_is(world: World) -> None:
    completed(world)
    world.nights(17)
    (key,) = world.bank.archive.keys("payments/")
    assert key == "payments/day=2026-11-18/minute=1105/shard=0002/slot-0001.jsonl.gz"
    readable = gzip.decompress(world.bank.archive.objects[key]).decode()
    names = (':"payer"', ':"payee"', '"rent"', "demo", "settled", '"a"')
    assert [name for name in names if name in readable] == []
    assert '"amount":{"N":"300"}' in readable
    assert '"status":{"S":"COMPLETED"}' in readable


def test_without_its_key_an_archived_payment_is_noise(world: World) -> None:
    payment = completed(world)
    left_the_table(world, payment)
    world.bank.data_keys.keys.clear()
    world.bank.clock.move(DAY)
    fresh = ArchivedPayments(archive=lambda: world.bank.archive, vault=world.vault, clock=world.bank.clock)
    assert fresh.find("demo", payment.id) is None
    assert world.bank.data_keys.keys == {}


@pytest.mark.parametrize("missing", [1, 2])
def test_a_payment_without_one_of_its_events_stays_until_it_is_there(world: World, missing: int) -> None:
    payment = world.bank.registered(amount=300)
    world.bank.settle(payment)
    world.record(payment.id, without=missing)
    world.nights(30)
    assert (world.rows.removals, world.bank.archive.keys("payments/")) == ({}, [])
    world.record(payment.id)
    world.nights(12)
    assert list(world.rows.removals) == [payment.id]


def test_a_payment_whose_events_are_not_archived_stays(world: World) -> None:
    """The archive of events has stood still since before the payment."""
    early = completed(world)
    world.bank.clock.move(4 * DAY)
    later = [completed(world, idempotency_key="middle")]
    world.bank.clock.move(DAY)
    world.archive_events()
    later.append(completed(world, idempotency_key="late"))
    world.bank.clock.move(17 * DAY)
    world.walk()
    assert list(world.rows.removals) == [early.id]
    world.nights(4)
    assert sorted(world.rows.removals) == sorted(each.id for each in (early, *later))


def test_a_payment_that_contradicts_the_journal_stays_in_sight(world: World) -> None:
    payment = completed(world)
    world.bank.ledger._movements = {
        id: each for id, each in world.bank.ledger._movements.items() if each.type is not Type.PAYMENT
    }
    world.nights(30)
    assert world.rows.removals == {}
    world.bank.clock.move(KEPT)
    assert (world.expire(), "one_movement_a_payment" in world.audit()) == ([], True)
    assert payment.id in world.bank.ledger._payments


def test_a_payment_that_was_moved_is_archived_after_its_new_instant(world: World) -> None:
    other = completed(world)
    moved = world.bank.registered(amount=5, due_at=FAR + DAY)
    later = FAR + 200 * DAY
    world.bank.changer.edit(
        ANYBODY, moved.id, version=None, due_at=later, amount=None, instant_field="scheduled_time"
    )
    world.record(moved.id)
    world.nights(20)
    assert list(world.rows.removals) == [other.id]
    world.quiet(175)
    world.nights(2)
    world.bank.settle(world.bank.stored(moved.id))
    world.record(moved.id)
    world.nights(40)
    assert sorted(world.rows.removals) == sorted((other.id, moved.id))
    ends = datetime.fromtimestamp(int(world.rows.removals[moved.id]["N"]), tz=START.tzinfo)
    assert ends - later >= KEPT
    assert world.walks.notes == set()
    world.bank.clock.move(2 * KEPT)
    world.expire()
    assert world.get(moved.id).planned_at == later
    assert world.audit() == []


def test_a_row_that_changed_after_it_was_copied_is_copied_again(world: World) -> None:
    """No code changes a payment that has ended; a restore may bring back another life of it."""
    payment = completed(world)
    changed = replace(payment, version=3, error="restored", history=(*payment.history, LINE))

    def change() -> None:
        world.bank.ledger._payments[payment.id] = changed

    world.rows.before["remove_at"].append(change)
    world.nights(16)
    assert world.rows.removals == {}
    world.record(payment.id)
    world.nights(8)
    assert len(world.bank.archive.keys("payments/")) == 2
    world.bank.clock.move(KEPT)
    assert world.expire() == [payment.id]
    assert world.get(payment.id) == changed


def dying(store: Any, call: str, at: int, *, after: bool) -> None:
    """The worker dies in the call with this number, before it is made or after."""
    made, calls = getattr(store, call), count()

    def dies(*given: Any) -> Any:
        number = next(calls)
        if number == at and not after:
            raise Death
        answer = made(*given)
        if number == at:
            raise Death
        return answer

    setattr(store, call, dies)


STEPS = [
    *(("archive", "put", at) for at in range(2)),
    *(("rows", "remove_at", at) for at in range(2)),
    *(("walks", "look_again", 0), ("walks", "forget", 0), ("walks", "walk_to", 0)),
]


@pytest.mark.parametrize(("store", "call", "at"), STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_a_walk_that_dies_is_repeated_by_the_next_night(
    world: World, store: str, call: str, at: int, after: bool
) -> None:
    """Dies before or after each of its writes: two payments are ready, one waits, and one comes later."""
    ready = [completed(world, idempotency_key=f"ready-{number}", amount=number) for number in (1, 2)]
    waits = world.bank.registered(amount=5, due_at=FAR + DAY)
    world.bank.changer.edit(
        ANYBODY, waits.id, version=None, due_at=FAR + 20 * DAY, amount=None, instant_field="scheduled_time"
    )
    world.record(waits.id)
    target: Any = {"archive": world.bank.archive, "rows": world.rows, "walks": world.walks}[store]
    dying(target, call, at, after=after)
    died = 0
    for number in range(45):
        world.bank.clock.move(DAY)
        if number == 25:
            world.bank.settle(world.bank.stored(waits.id))
            world.record(waits.id)
        try:
            world.night()
        except Death:
            died += 1
    assert died == 1
    everything = sorted([*(each.id for each in ready), waits.id])
    assert sorted(world.rows.removals) == everything
    world.bank.clock.move(2 * KEPT)
    originals = {id: world.bank.stored(id) for id in everything}
    assert sorted(world.expire()) == everything
    assert {id: world.get(id) for id in everything} == originals
    assert (world.audit(), world.walks.notes) == ([], set())
