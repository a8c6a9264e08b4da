"""The archive of payments is sound after walks over it, and each kind of damage is found."""

import gzip
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from cli import archive
from cli.archive_payments import VerifiedPayments, verify
from postdate.domain import retention
from postdate.domain.errors import InvalidState, NotFound
from postdate.domain.payment import Payment
from postdate.domain.slots import Slot
from tests.unit.api.payments.conftest import ANYBODY
from tests.unit.archive.test_retain import DAY, World, completed, left_the_table, with_journal

Damage = Callable[[dict[str, Any]], Any]


@pytest.fixture
def world() -> World:
    return with_journal()


def archived(world: World) -> tuple[Payment, str]:
    payment = completed(world)
    world.nights(17)
    (key,) = world.bank.archive.keys("payments/")
    return payment, key


def lines(world: World, key: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(world.bank.archive.objects[key]).splitlines()]


def stored(world: World, key: str, *told: dict[str, Any]) -> None:
    text = "".join(f"{json.dumps(each)}\n" for each in told)
    world.bank.archive.objects[key] = gzip.compress(text.encode())


def problems(world: World) -> list[str]:
    found = archive.verify(world.bank.archive)
    assert set(found.payments.problems) <= set(found.problems)
    return found.payments.problems


def test_an_archive_that_a_walk_wrote_is_sound(world: World) -> None:
    archived(world)
    found = verify(world.bank.archive)
    assert found == VerifiedPayments(objects=1, payments=1, bytes=found.bytes)
    assert found.bytes > 0


def test_a_payment_that_was_copied_again_is_counted_and_no_problem(world: World) -> None:
    """A restored row differs from its line, so the walk writes it once more."""
    payment, key = archived(world)
    (line,) = lines(world, key)
    line["row"]["version"]["N"] = str(payment.version + 1)
    second = retention.object_key(payment.home, 2)
    stored(world, second, line)
    found = verify(world.bank.archive)
    assert (found.problems, found.copied_again, found.payments) == ([], 1, 2)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda line: line["row"]["status"].update(S="PENDING"), "has not ended"),
        (lambda line: line["row"].pop("version"), "has no version"),
        (lambda line: line["row"]["slot"].update(S="2026-11-18T10:05#00"), "names another slot"),
        (lambda line: line["row"]["id"].update(S="pay_" + "0" * 24), "belongs to another slot"),
        (lambda line: line.update(payer="alice"), "payer of .* is not sealed"),
        (lambda line: line.pop("sealed"), "sealed of .* is not sealed"),
        (lambda line: line["row"].update(description={"S": "rent"}), "tells description in clear"),
        (lambda line: line.pop("row"), "is no payment"),
    ],
)
def test_a_line_that_is_not_what_its_place_tells_is_found(world: World, damage: Damage, told: str) -> None:
    _, key = archived(world)
    (line,) = lines(world, key)
    damage(line)
    stored(world, key, line)
    with pytest.raises(AssertionError, match=told):
        assert problems(world) == []


def test_a_damaged_a_missing_and_a_foreign_object_are_found(world: World) -> None:
    payment, key = archived(world)
    content = world.bank.archive.objects[key]
    world.bank.archive.objects[key] = content[:-9]
    assert "cannot be read" in problems(world)[0]
    world.bank.archive.objects[key] = content
    third = retention.object_key(payment.home, 3)
    world.bank.archive.objects[third] = content
    assert any("the object before it is missing" in each for each in problems(world))
    assert any("once more" in each for each in problems(world))
    del world.bank.archive.objects[third]
    world.bank.archive.objects["payments/day=2026-11-18/other.gz"] = b""
    assert problems(world) == ["payments/day=2026-11-18/other.gz: is no object of a slot"]


def test_each_key_of_an_object_leads_to_its_place() -> None:
    for slot in (Slot(minute=29_700_005, shard=0), Slot(minute=29_799_999, shard=12_345)):
        for number in (1, 10_000):
            assert retention.place_of(retention.object_key(slot, number)) == (slot, number)
    for key in ("payments/", "payments/day=2026-13-01/minute=0000/shard=0000/slot-0001.jsonl.gz"):
        assert retention.place_of(key) is None


def test_the_internal_route_tells_how_an_archived_payment_ended(world: World) -> None:
    payment = completed(world)
    with pytest.raises(NotFound):
        world.bank.executor.execute(payment.id[:-1] + ("0" if payment.id[-1] != "0" else "1"), "run-1")
    left_the_table(world, payment)
    before = world.bank.ledger.state
    told = world.bank.executor.execute(payment.id, "run-1")
    assert told == {"success": True, "execution_id": None, "status": "COMPLETED"}
    # Also without the key of the tenant, who was erased.
    world.bank.data_keys.keys.clear()
    assert world.bank.executor.execute(payment.id, "run-2") == told
    assert world.bank.ledger.state == before


def test_the_internal_route_refuses_an_archived_payment_that_was_cancelled(world: World) -> None:
    payment = world.bank.registered(amount=5, due_at=world.bank.clock.now() + timedelta(hours=1))
    world.bank.changer.cancel(ANYBODY, payment.id, version=None)
    world.record(payment.id)
    world.nights(17)
    world.bank.clock.move(400 * DAY)
    assert world.expire() == [payment.id]
    with pytest.raises(InvalidState) as refused:
        world.bank.executor.execute(payment.id, "run-1")
    assert refused.value.state == "CANCELLED"
