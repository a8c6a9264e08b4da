"""An event, and a page of a feed, as rows of the table `events`."""

import json
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.event import Actor, Event, Subject
from postdate.stores.attributes import AttributeMap, compact, typed
from postdate.stores.events import FeedEntry, FeedPage

_DIGITS: Final = 12
# No subject is of this kind.
_FEED: Final = "feed"


def subject_key(subject: Subject) -> str:
    return f"{subject.tenant}#{subject.kind}#{subject.id}"


def feed_key(tenant: str) -> str:
    return f"{tenant}#{_FEED}"


def number_key(number: int) -> str:
    """Sorts as the number does."""
    return f"{number:0{_DIGITS}d}"


def attributes_of(event: Event, *, after: int, kept: timedelta) -> AttributeMap:
    """The writer of the row sets `recorded_at`."""
    if event.recorded_at is None:
        raise ValueError("an event is written by who records it")
    texts = {
        "subject": subject_key(event.subject),
        "sequence": number_key(event.sequence),
        "tenant": event.subject.tenant,
        "type": event.type,
        "actor": f"{event.actor.type}:{event.actor.id}",
        "accounts": compact(event.accounts) if event.accounts else None,
        "data": compact(event.data),
        "reconstructed": "true" if event.reconstructed else None,
    }
    numbers = {
        "occurred": instants.milliseconds(event.occurred_at),
        "recorded": instants.milliseconds(event.recorded_at),
        # The feed lists the event on a later page than this one.
        "after": after,
        "depth": event.depth or None,
        "expires_at": _expiry(event.recorded_at, kept),
    }
    return typed(texts, numbers)


def event_of(row: AttributeMap) -> Event:
    tenant, kind, id = _text(row, "subject").split("#", 2)
    return Event(
        subject=Subject(tenant=tenant, kind=kind, id=id),
        type=_text(row, "type"),
        sequence=int(_text(row, "sequence")),
        occurred_at=_instant(row, "occurred"),
        recorded_at=_instant(row, "recorded"),
        actor=Actor.parse(_text(row, "actor")),
        accounts=tuple(json.loads(_text(row, "accounts"))) if "accounts" in row else (),
        data=json.loads(_text(row, "data")),
        reconstructed="reconstructed" in row,
        depth=int(row["depth"]["N"]) if "depth" in row else 0,
    )


def after_of(row: AttributeMap) -> int:
    return int(row["after"]["N"])


def page_attributes(page: FeedPage, *, kept: timedelta) -> AttributeMap:
    texts = {"subject": feed_key(page.tenant), "sequence": number_key(page.number), "log": page.log}
    numbers = {
        "recorded": instants.milliseconds(page.recorded_at),
        "expires_at": _expiry(page.recorded_at, kept),
    }
    entries = [{"S": f"{each.sequence} {each.type} {each.id}"} for each in page.entries]
    return typed(texts, numbers) | {"entries": {"L": entries}}


def page_of(row: AttributeMap) -> FeedPage:
    return FeedPage(
        tenant=_text(row, "subject").removesuffix(f"#{_FEED}"),
        log=_text(row, "log"),
        number=int(_text(row, "sequence")),
        recorded_at=_instant(row, "recorded"),
        entries=tuple(_entry(each["S"]) for each in row["entries"]["L"]),
    )


def _entry(text: str) -> FeedEntry:
    sequence, type, id = text.split(" ", 2)
    return FeedEntry(type=type, id=id, sequence=int(sequence))


def _text(row: AttributeMap, name: str) -> str:
    text: str = row[name]["S"]
    return text


def _instant(row: AttributeMap, name: str) -> datetime:
    return instants.from_milliseconds(int(row[name]["N"]))


def _expiry(recorded_at: datetime, kept: timedelta) -> int:
    return int((recorded_at + kept).timestamp())
