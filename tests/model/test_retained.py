"""Random months of the walk that archives payments: payments move, wait and end late, workers die, events come late.
Each planted mistake takes one of the walk's rules away, and some history must show it."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from functions.api.payments.register import PaymentRegistrar
from functions.archive.retain import Retainer
from postdate.domain import instants, retention
from postdate.domain.errors import PostdateError, Unavailable
from postdate.domain.payment import Payment, State
from postdate.stores import archived_payments
from postdate.use_cases import auditing
from tests.unit.api.payments.conftest import ANYBODY
from tests.unit.archive.test_retain import KEPT, Death, World, with_journal
from tests.unit.doubles import MINUTE

SEEDS: Final = 40
FOUND_WITHIN: Final = 60
_STEPS: Final = 30
_FAULTS: Final = 0.06
_WRITES: Final = (
    *(("archive", "put"), ("rows", "remove_at")),
    *(("walks", "walk_to"), ("walks", "look_again"), ("walks", "forget")),
)


@dataclass(slots=True)
class Months:
    """One random history. `last` are the payments as they were last changed, by their ids; `keys` their keys. `late`
    are those whose newest events are not recorded."""

    draws: random.Random
    world: World = field(default_factory=with_journal)
    last: dict[str, Payment] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    late: set[str] = field(default_factory=set)
    faults: bool = True

    def __post_init__(self) -> None:
        world = self.world
        stores = {"archive": world.bank.archive, "rows": world.rows, "walks": world.walks}
        for name, call in _WRITES:
            setattr(stores[name], call, self._faulty(getattr(stores[name], call)))

    def _faulty(self, made: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            drawn = self.draws.random() if self.faults else 1.0
            if drawn < _FAULTS:
                raise Death
            answer = made(*given)
            if drawn < 2 * _FAULTS:
                raise Death
            if drawn < 3 * _FAULTS:
                raise Unavailable("the answer is lost")
            return answer

        return call

    @property
    def waiting(self) -> list[Payment]:
        return [each for each in self.last.values() if each.state is State.PENDING]

    def register(self) -> None:
        key = f"key-{len(self.keys)}"
        ahead = self.draws.choice([2 * MINUTE, timedelta(hours=9), timedelta(days=30)])
        due_at = self.world.bank.clock.now() + ahead
        self.changed(self.world.bank.registered(idempotency_key=key, amount=3, due_at=due_at))
        self.keys[next(reversed(self.last))] = key

    def changed(self, payment: Payment) -> None:
        self.last.pop(payment.id, None)
        self.last[payment.id] = payment
        self.late.add(payment.id)

    def record(self) -> None:
        for id in sorted(self.late):
            self.world.record(id)
        self.late.clear()

    def settle(self) -> None:
        for payment in self.waiting:
            if payment.planned_at <= self.world.bank.clock.now():
                self.changed(self.world.bank.settle(payment))

    def change(self) -> None:
        bank = self.world.bank
        waiting = [each for each in self.waiting if each.planned_at > bank.clock.now() + MINUTE]
        if not waiting:
            return
        payment = self.draws.choice(waiting)
        if self.draws.random() < 0.3:
            self.changed(bank.changer.cancel(ANYBODY, payment.id, version=None))
            return
        due_at = bank.clock.now() + self.draws.choice([5, 40, 300]) * timedelta(days=1)
        self.changed(
            bank.changer.edit(
                ANYBODY, payment.id, version=None, due_at=due_at, amount=None, instant_field="x"
            )
        )

    def night(self, days: int = 1) -> None:
        self.world.bank.clock.move(timedelta(days=days))
        try:
            self.world.archive_events()
            self.world.walk()
        except (Death, Unavailable):
            assert self.faults
        self.world.expire()


def lived(seed: int) -> Months:
    months = Months(random.Random(seed))
    months.register()
    months.record()
    for _ in range(_STEPS):
        match months.draws.randrange(8):
            case 0 | 1:
                months.register()
            case 2:
                months.change()
            case 3:
                months.settle()
            case 4:
                months.record()
            case 5 | 6:
                months.night(months.draws.choice([1, 1, 7]))
            case _:
                months.night(20)
    months.faults = False
    for _ in range(8):
        months.world.bank.clock.move(timedelta(days=100))
        months.settle()
        months.record()
        for _ in range(4):
            months.night()
    return months


def wrong(seed: int) -> str:
    """The first contradiction of this seed's history; empty if there is none."""
    try:
        months = lived(seed)
        return _contradiction(months)
    except (PostdateError, KeyError, AssertionError) as error:
        return repr(error)


def _contradiction(months: Months) -> str:
    world = months.world
    early = [
        id
        for id, at in world.rows.removals.items()
        if datetime.fromtimestamp(int(at["N"]), tz=instants.EPOCH.tzinfo)
        < max(months.last[id].planned_at, months.last[id].finished_at or instants.EPOCH) + KEPT
    ]
    if early:
        return f"{early} leave too early"
    world.bank.clock.move(2 * KEPT)
    world.expire()
    if left := sorted(world.bank.ledger._payments):
        return f"{left} never leave"
    if differs := [id for id, payment in months.last.items() if world.get(id) != payment]:
        return f"{differs} are not answered as they were"
    if failed := world.audit():
        return f"the audit fails: {failed}"
    before = world.bank.ledger.state
    again = {id: world.bank.registered(idempotency_key=key, amount=3).id for id, key in months.keys.items()}
    if again != {id: id for id in months.keys} or world.bank.ledger.state != before:
        return "a repeated key registers anew"
    return ""


def test_random_months_keep_every_rule() -> None:
    assert [(seed, what) for seed in range(SEEDS) if (what := wrong(seed))] == []


def test_the_histories_reach_what_they_are_for() -> None:
    """Slots with several objects, notes for later days, and payments that end long after their slots."""
    found = [lived(seed) for seed in range(20)]
    keys = [key for months in found for key in months.world.bank.archive.keys("payments/")]
    assert any(key.endswith("slot-0002.jsonl.gz") for key in keys)
    ended = [each for months in found for each in months.last.values() if each.finished_at is not None]
    assert any(
        each.finished_at > instants.end_of(each.home.minute) + 30 * timedelta(days=1) for each in ended
    )
    assert {each.state for each in ended} == {State.COMPLETED, State.CANCELLED}


@contextmanager
def _removed_first(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The removal is set before the object is written."""

    def archived(self: Retainer, slot: Any, ready: Any) -> tuple[int, int]:
        for row, payment in ready:
            self.payments.remove_at(row, retention.leaves_at(payment, self.kept) or instants.EPOCH)
        return whole(self, slot, ready)

    whole = Retainer._archived
    patch.setattr(Retainer, "_archived", archived)
    yield


@contextmanager
def _waiting_too(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A payment that waits leaves with its slot."""
    patch.setattr(retention, "leaves_at", lambda payment, kept: instants.end_of(payment.home.minute) + kept)
    patch.setattr(Retainer, "_sound", lambda self, payments: {each.id for each in payments})
    yield


@contextmanager
def _not_noted(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A slot with payments that were left is not looked at again."""
    faulty = Months._faulty

    def deaf(self: Months, made: Callable[..., Any]) -> Callable[..., Any]:
        return faulty(self, (lambda *_: None) if made.__name__ == "look_again" else made)

    patch.setattr(Months, "_faulty", deaf)
    yield


@contextmanager
def _place_first(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The place moves before the minute is walked through."""
    walk = Retainer._walk

    def early(self: Retainer, pool: Any, done: Any, slots: Any) -> None:
        if self.walks.walked() is not None:
            self.walks.walk_to(max(slot.minute for slot in slots))
        walk(self, pool, done, slots)

    patch.setattr(Retainer, "_walk", early)
    yield


@contextmanager
def _forgotten_first(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A note is removed before its slot is walked."""

    def forgetful(self: Retainer, walk: Any, has_time: Any) -> None:
        notes = self.walks.again(self.clock.now().date(), limit=100)
        for day, slot in notes:
            self.walks.forget(slot, day)
        if notes:
            walk(sorted({slot for _, slot in notes}))

    patch.setattr(Retainer, "_look_again", forgetful)
    yield


@contextmanager
def _taken_for_ours(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """An object that is there counts as if this walk had written it."""

    def stored(self: Retainer, slot: Any, lines: Any) -> int:
        content = archived_payments.packed(lines[id] for id in sorted(lines))
        return int(bool(lines) and self.archive.put(retention.object_key(slot, 1), content))

    patch.setattr(Retainer, "_stored", stored)
    yield


@contextmanager
def _first_object_only(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reader looks into a slot's first object alone."""
    every = archived_payments.objects_of
    patch.setattr(archived_payments, "objects_of", lambda archive, slot: list(every(archive, slot))[:1])
    yield


@contextmanager
def _key_anew(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A repeated key looks for its payment in the table alone."""
    patch.setattr(PaymentRegistrar, "_stored", lambda self, tenant, ids: self.ledger.payments(ids))
    yield


@contextmanager
def _audit_unaware(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The audit expects the payment of each movement in the table."""
    patch.setattr(auditing, "archived", lambda movements, payments, now: frozenset())
    yield


@contextmanager
def _from_the_slot(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The days count from the slot, however much later the payment ended."""

    def leaves(payment: Payment, kept: timedelta) -> datetime | None:
        return instants.end_of(payment.home.minute) + kept if payment.state.is_final else None

    patch.setattr(retention, "leaves_at", leaves)
    yield


MISTAKES: Final[tuple[Callable[[pytest.MonkeyPatch], Any], ...]] = (
    *(_removed_first, _waiting_too, _not_noted, _place_first, _forgotten_first, _taken_for_ours),
    *(_first_object_only, _key_anew, _audit_unaware, _from_the_slot),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__.strip("_"))
def test_each_planted_mistake_is_found(mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with mistake(monkeypatch):
        assert any(wrong(seed) for seed in range(FOUND_WITHIN)), mistake.__doc__
