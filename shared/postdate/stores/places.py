"""Places in lists that are ordered by instants. A place is the scheduled instant in milliseconds and the item's id."""

from datetime import datetime
from typing import Final

from postdate.domain import instants

_DIGITS: Final = 13
# Before and behind every place, and behind every longer text that begins with a place.
_FIRST: Final = "!"
_LAST: Final = "~"


def place_of(at: datetime, id: str = "") -> str:
    """The place of an item in a list, in the order of instants. Without an id, the first place of that instant."""
    return f"{instants.milliseconds(at):0{_DIGITS}d}{id}"


def instant_at(place: str) -> datetime:
    return instants.from_milliseconds(int(place[:_DIGITS]))


def id_at(place: str) -> str:
    return place[_DIGITS:]


def between(
    since: datetime | None, until: datetime | None, *, after: str, newest_first: bool
) -> tuple[str, str] | None:
    """The first and the last text of a page that goes on behind the place `after`; None if nothing lies between. The
    instant `since` is in it, `until` is not. DynamoDB's BETWEEN includes both ends, so they stand just behind and just
    before the places that are left out."""
    first = place_of(since) if since else _FIRST
    last = place_of(until) if until else _LAST
    if after and newest_first:
        last = min(last, f"{after[:-1]}{chr(ord(after[-1]) - 1)}{_LAST}")
    else:
        first = max(first, f"{after}{_FIRST}")
    return None if last < first else (first, last)
