"""Events are written once, listed in pages that follow each other, and found again as they were written."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postdate.domain.event import Actor, Event, Subject
from postdate.stores.events import Events, FeedEntry, FeedPage
from tests.contract.conftest import OnAws


@pytest.fixture
def tenant(now: datetime) -> str:
    """A tenant of its own for each test."""
    return f"t{int(now.timestamp())}"


@pytest.fixture
def event(tenant: str, now: datetime) -> Event:
    return Event(
        subject=Subject(tenant=tenant, kind="payment", id="pay_0wgzfs020000000000000001"),
        type="payment.scheduled",
        sequence=1,
        occurred_at=now,
        recorded_at=now + timedelta(milliseconds=95),
        actor=Actor(type="key", id="k1"),
        accounts=("alice", "bob#1"),
        data={"after": {"amount": 100, "description": "Miete für \u2192 November", "metadata": {"a": "1"}}},
    )


def page(event: Event, number: int, *entries: Event) -> FeedPage:
    assert event.recorded_at is not None
    return FeedPage(
        tenant=event.subject.tenant,
        log="1a",
        number=number,
        recorded_at=event.recorded_at,
        entries=tuple(FeedEntry.of(each) for each in entries or (event,)),
    )


def test_an_event_is_read_back_as_it_was_written(events: Events, event: Event) -> None:
    made_up = replace(event, sequence=2, reconstructed=True, accounts=(), data={"reason": "x"})
    assert events.put([event, made_up], after={event.subject.tenant: 7}) == {}
    assert events.of(event.subject, limit=10) == [event, made_up]
    assert events.listed(event.subject.tenant, [FeedEntry.of(event)]) == {FeedEntry.of(event): event}


def test_an_event_that_is_there_stays_as_it_is_and_says_where_it_is_listed(
    events: Events, event: Event
) -> None:
    tenant = event.subject.tenant
    events.put([event], after={tenant: 7})
    other, next_one = replace(event, data={"after": {}}), replace(event, sequence=2)
    assert events.put([other, next_one], after={tenant: 9}) == {event.id: 7}
    assert events.put([next_one], after={tenant: 12}) == {next_one.id: 9}
    assert events.of(event.subject, limit=10) == [event, next_one]


def test_many_events_are_written_at_once(events: Events, event: Event) -> None:
    tenant = event.subject.tenant
    many = [replace(event, sequence=number) for number in range(1, 61)]
    assert events.put(many[:30], after={tenant: 1}) == {}
    assert events.put(many, after={tenant: 2}) == {each.id: 1 for each in many[:30]}
    assert events.of(event.subject, limit=100) == many
    assert events.of(event.subject, after=10, limit=5) == many[10:15]
    assert events.listed(tenant, [FeedEntry.of(each) for each in many]).keys() == {
        FeedEntry.of(each) for each in many
    }


def test_a_page_is_written_once(events: Events, event: Event) -> None:
    first, other = page(event, 1), replace(page(event, 1), log="2b")
    assert events.append(first)
    assert not events.append(other)
    assert not events.append(replace(first))
    assert events.pages(event.subject.tenant, limit=10) == [first]


def test_pages_are_read_from_either_end_and_from_between(events: Events, event: Event) -> None:
    pages = [page(event, number, event, replace(event, sequence=number)) for number in range(1, 13)]
    for each in pages:
        assert events.append(each)
    tenant = event.subject.tenant
    assert events.pages(tenant, limit=100) == pages
    assert events.pages(tenant, after=9, limit=100) == pages[9:]
    assert events.pages(tenant, limit=2) == pages[:2]
    assert events.pages(tenant, limit=2, newest_first=True) == [pages[11], pages[10]]
    assert events.pages(tenant, limit=2, newest_first=True, before=3) == [pages[1], pages[0]]
    assert events.pages(tenant, limit=2, before=1) == []
    assert events.pages(f"{tenant}x", limit=10) == []


def test_subjects_and_tenants_do_not_see_each_other(events: Events, event: Event) -> None:
    longer = replace(event, subject=replace(event.subject, id=f"{event.subject.id}x"))
    other = replace(event, subject=replace(event.subject, tenant=f"{event.subject.tenant}x"))
    events.put([event, longer], after={event.subject.tenant: 0})
    events.put([other], after={other.subject.tenant: 0})
    assert events.of(event.subject, limit=10) == [event]
    assert events.listed(other.subject.tenant, [FeedEntry.of(longer)]) == {}


def test_rows_of_events_expire_with_their_environments_retention(on_aws: OnAws, event: Event) -> None:
    on_aws.events.put([event], after={event.subject.tenant: 0})
    on_aws.events.append(page(event, 1))
    rows = on_aws.dynamodb.scan(TableName=on_aws.names["events"])["Items"]
    mine = [row for row in rows if row["subject"]["S"].startswith(event.subject.tenant)]
    assert event.recorded_at is not None
    expiry = int((event.recorded_at + timedelta(days=400)).timestamp())
    assert [int(row["expires_at"]["N"]) for row in mine] == [expiry, expiry]
