"""Pages of a list, in the order of places: ids, or texts that lead to them.

A cursor names the last place it passed and the list it belongs to. It holds nothing secret and grants nothing: the
tenant always comes from the key.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

from functions.api.forms import instant_of
from postdate.domain.errors import ValidationFailed
from postdate.runtime.clock import Clock

LIMIT_DEFAULT: Final = 20
LIMIT_MAX: Final = 100
ORDERS: Final = ("asc", "desc")
# No item is claimed or settled before its instant: none that was is further ahead than clocks are apart.
CLOCKS_APART: Final = timedelta(seconds=10)
# A page that needs longer ends where it is.
TIME: Final = timedelta(seconds=3)
_READ_AT_ONCE: Final = 100
_ROUNDS_MAX: Final = 10
# More than any id and any name has; a key of DynamoDB may have 1,024.
AFTER_BYTES_MAX: Final = 255
_OF_EVERY_LIST: Final = frozenset({"limit", "cursor"})

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """The requested part of a list."""

    # The greatest number of items.
    limit: int
    # The place behind which the page begins; empty for the first page.
    after: str
    # A hash of the list: of its kind, its tenant and its filters. A cursor of another list has another mark.
    mark: str

    @classmethod
    def of(cls, parameters: Mapping[str, str], *asked: str | None) -> "Span":
        limit = parameters.get("limit", str(LIMIT_DEFAULT))
        if not limit.isdecimal() or not limit.isascii() or len(limit) > 3 or not 1 <= int(limit) <= LIMIT_MAX:
            raise ValidationFailed([("limit", f"is a number from 1 to {LIMIT_MAX}")])
        mark = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]
        span = cls(limit=int(limit), after="", mark=mark)
        return span._going_on(parameters["cursor"]) if "cursor" in parameters else span

    def cursor(self, after: str) -> str:
        return base64.urlsafe_b64encode(json.dumps([after, self.mark]).encode()).decode()

    def cut(self, found: Sequence[ItemT], id_of: Callable[[ItemT], str]) -> tuple[list[ItemT], str | None]:
        """The page, of one item more than it may have: that one says that there is another page."""
        shown = list(found[: self.limit])
        return shown, self.cursor(id_of(shown[-1])) if len(found) > self.limit else None

    def _going_on(self, cursor: str) -> "Span":
        """The part of the list behind a cursor. Raises ValidationFailed for a cursor of another list, or for any other
        text."""
        try:
            after, mark = json.loads(base64.urlsafe_b64decode(cursor.encode()))
            size = len(after.encode())
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise ValidationFailed([("cursor", "is not a cursor of this API")]) from None
        if mark != self.mark or size > AFTER_BYTES_MAX:
            raise ValidationFailed([("cursor", "belongs to another query")])
        return replace(self, after=after)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page(Generic[ItemT]):
    """One page of a list."""

    # The items, in the order of the list.
    items: list[ItemT]
    # The beginning of the next page; None on the last one.
    cursor: str | None
    # True if the page ended before it was full: the search took too long, or passed over too much.
    partial: bool = False


def only_known(parameters: Mapping[str, str], *names: str) -> None:
    if unknown := sorted(parameters.keys() - _OF_EVERY_LIST - set(names)):
        raise ValidationFailed([(name, "is not a known parameter") for name in unknown])


def instant(parameters: Mapping[str, str], name: str) -> datetime | None:
    return instant_of(name, parameters[name]) if name in parameters else None


def is_newest_first(parameters: Mapping[str, str], *, usual: str = ORDERS[0]) -> bool:
    """`usual` is the order of a list whose query names none."""
    order = parameters.get("order", usual)
    if order not in ORDERS:
        raise ValidationFailed([("order", f"is one of {', '.join(ORDERS)}")])
    return order == "desc"


def page(
    span: Span,
    *,
    listed: Callable[[str, int], Sequence[str]],
    loaded: Callable[[Sequence[str]], Mapping[str, ItemT]],
    wants: Callable[[ItemT], bool],
    filters: bool,
    has_time: Callable[[], bool],
) -> Page[ItemT]:
    """Up to `limit` items and where to go on. A filter that hardly anything passes may end a page before it is full,
    and so may the time that it takes: then the cursor goes on behind what was looked at. `loaded` finds items by their
    places. The first look is for as many as the page has room for: most filters pass most of what is listed."""
    found: list[ItemT] = []
    after = span.after
    for at_once in (span.limit + 1, *((_READ_AT_ONCE,) * (_ROUNDS_MAX if filters else _ROUNDS_MAX - 1))):
        places = listed(after, at_once)
        rows = loaded(places)
        for place in places:
            after = place
            if (item := rows.get(place)) is not None and wants(item):
                found.append(item)
                if len(found) == span.limit:
                    # A full look may have more behind it; a cursor that leads to an empty page does no harm.
                    goes_on = place != places[-1] or len(places) == at_once
                    return Page(items=found, cursor=span.cursor(after) if goes_on else None)
        if len(places) < at_once:
            return Page(items=found, cursor=None)
        if not has_time():
            break
    return Page(items=found, cursor=span.cursor(after), partial=True)


def within(clock: Clock, time: timedelta = TIME) -> Callable[[], bool]:
    """A function that is true while the time for one request is not over."""
    ends_at = clock.now() + time
    return lambda: clock.now() < ends_at
