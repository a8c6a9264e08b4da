"""Meaning of an Idempotency-Key, and the moments at which it may be decided."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postdate.stores.idempotency import Reservation, Reservations
from tests.contract.conftest import OnAws

SECOND = timedelta(seconds=1)


@pytest.fixture
def wanted(now: datetime) -> Reservation:
    now = now.replace(microsecond=0)
    return Reservation(
        tenant="acme",
        key=f"order-{now:%Y%m%d%H}",
        fingerprint="abc",
        item_id="task_1",
        due_at=now + timedelta(minutes=5, milliseconds=7),
        created_at=now + timedelta(milliseconds=3),
        keep_until=now + timedelta(days=30),
    )


@pytest.fixture
def other(wanted: Reservation) -> Reservation:
    """The same key, asked for again: another request or a repeated one."""
    return replace(wanted, item_id="task_2", fingerprint="xyz", due_at=wanted.due_at + SECOND)


def test_a_free_key_is_taken(reservations: Reservations, wanted: Reservation, now: datetime) -> None:
    assert reservations.reserve(wanted, now=now) == wanted


def test_a_taken_key_says_what_it_stands_for(
    reservations: Reservations, wanted: Reservation, other: Reservation, now: datetime
) -> None:
    reservations.reserve(wanted, now=now)
    assert reservations.reserve(other, now=now) == wanted
    assert reservations.reserve(other, now=now + timedelta(days=29)) == wanted


def test_a_key_is_found_by_whoever_asks_what_it_stands_for(
    reservations: Reservations, wanted: Reservation, other: Reservation, now: datetime
) -> None:
    assert reservations.find(wanted.tenant, wanted.key) is None
    reservations.reserve(wanted, now=now)
    assert reservations.find(wanted.tenant, wanted.key) == wanted
    assert reservations.find("acme-2", wanted.key) is None
    reservations.redate(wanted, wanted.anew(other))
    assert reservations.find(wanted.tenant, wanted.key) == wanted.anew(other)


def test_the_same_key_of_another_tenant_is_another_key(
    reservations: Reservations, wanted: Reservation, now: datetime
) -> None:
    theirs = replace(wanted, tenant="acme-2", item_id="task_3")
    reservations.reserve(wanted, now=now)
    assert reservations.reserve(theirs, now=now) == theirs
    assert reservations.reserve(wanted, now=now) == wanted


def test_a_tenant_and_a_key_are_not_joined_into_anothers(
    reservations: Reservations, wanted: Reservation, now: datetime
) -> None:
    mine = replace(wanted, tenant="acme", key=f"#x{wanted.key}")
    theirs = replace(wanted, tenant="acme#", key=f"x{wanted.key}", item_id="task_4")
    reservations.reserve(mine, now=now)
    assert reservations.reserve(theirs, now=now) == theirs


def test_a_key_may_have_any_visible_character(
    reservations: Reservations, wanted: Reservation, now: datetime
) -> None:
    odd = replace(wanted, key="".join(map(chr, range(0x21, 0x7F))) + "k" * 161 + wanted.key[-4:])
    assert reservations.reserve(odd, now=now) == odd
    assert reservations.reserve(replace(odd, item_id="task_5"), now=now) == odd


def test_a_key_is_free_again_once_its_time_is_over_even_if_its_row_is_still_there(
    reservations: Reservations, wanted: Reservation, other: Reservation, now: datetime
) -> None:
    over = now.replace(microsecond=0) + timedelta(days=30)
    again = replace(other, keep_until=over + timedelta(days=30))
    reservations.reserve(wanted, now=now)
    assert wanted.keep_until == over
    assert reservations.reserve(again, now=over) == wanted
    assert reservations.reserve(again, now=over + SECOND) == again
    assert reservations.reserve(wanted, now=over + SECOND) == again


def test_a_key_kept_for_ever_is_never_free_again(
    reservations: Reservations, wanted: Reservation, other: Reservation, now: datetime
) -> None:
    for_ever = replace(wanted, keep_until=None)
    reservations.reserve(for_ever, now=now)
    assert reservations.reserve(other, now=now + timedelta(days=36_500)) == for_ever


def test_a_keys_item_is_given_another_instant_once(
    reservations: Reservations, wanted: Reservation, other: Reservation, now: datetime
) -> None:
    reservations.reserve(wanted, now=now)
    faster = wanted.anew(replace(other, due_at=other.due_at + SECOND))
    assert reservations.redate(wanted, faster)
    assert not reservations.redate(wanted, wanted.anew(other))
    found = reservations.reserve(other, now=now)
    assert found == faster
    assert (found.item_id, found.due_at) == (wanted.item_id, other.due_at + SECOND)


def test_a_key_remembers_the_instants_that_its_item_had_before(
    reservations: Reservations, wanted: Reservation, now: datetime
) -> None:
    reservations.reserve(wanted, now=now)
    found, tries = wanted, [wanted]
    for number in range(1, 13):
        later = timedelta(minutes=5 * number)
        again = found.anew(
            replace(wanted, due_at=wanted.due_at + later, created_at=wanted.created_at + later)
        )
        assert reservations.redate(found, again)
        stored = reservations.find(wanted.tenant, wanted.key)
        assert stored == again
        found = again
        tries.append(again)
    assert [(each.due_at, each.created_at) for each in tries[2:-1]] == list(found.earlier)
    for known in tries[2:]:
        assert found.of(known.created_at) == replace(found, due_at=known.due_at, created_at=known.created_at)
    assert found.of(wanted.created_at) is None


def test_a_key_whose_row_was_made_anew_since_is_not_given_another_instant(
    reservations: Reservations, wanted: Reservation, other: Reservation, now: datetime
) -> None:
    reservations.reserve(other, now=now)
    assert not reservations.redate(wanted, wanted.anew(other))
    assert reservations.find(wanted.tenant, wanted.key) == other


def test_a_key_that_is_gone_meanwhile_is_not_given_another_instant(
    reservations: Reservations, wanted: Reservation, other: Reservation, now: datetime
) -> None:
    assert not reservations.redate(wanted, wanted.anew(other))
    assert reservations.reserve(wanted, now=now) == wanted


def test_a_keys_row_expires_when_it_is_kept_no_longer(
    on_aws: OnAws, wanted: Reservation, now: datetime
) -> None:
    for_ever = replace(wanted, key=f"{wanted.key}-for-ever", keep_until=None)
    on_aws.reservations.reserve(wanted, now=now)
    on_aws.reservations.reserve(for_ever, now=now)
    rows = on_aws.dynamodb.scan(TableName=on_aws.names["idempotency"], ConsistentRead=True)["Items"]
    expiries = [row.get("expires_at") for row in rows if row["created"]["N"] == _milliseconds(wanted)]
    assert wanted.keep_until is not None
    assert len(expiries) == 2
    assert {"N": str(int(wanted.keep_until.timestamp()))} in expiries
    assert None in expiries


def test_a_key_is_not_stored_in_the_clear(on_aws: OnAws, wanted: Reservation, now: datetime) -> None:
    secret = replace(wanted, key=f"card-4111-{wanted.key}")
    on_aws.reservations.reserve(secret, now=now)
    assert "card-4111" not in str(on_aws.dynamodb.scan(TableName=on_aws.names["idempotency"])["Items"])


def _milliseconds(reservation: Reservation) -> str:
    return str(round(reservation.created_at.timestamp() * 1000))
