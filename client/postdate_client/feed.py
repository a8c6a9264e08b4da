"""The feed of events for threads.

`python client/generate.py` writes this file from `async_feed.py`.
"""

from collections.abc import Iterator
from typing import Final, Unpack

from postdate_client.answers import Event
from postdate_client.errors import ConnectionFailed, DeadlineExceeded, RateLimited, Unavailable
from postdate_client.events import Followed
from postdate_client.queries import EventsQuery, FollowQuery
from postdate_client.requests import Requests
from postdate_client.values import named, path_of

_FOLLOWED_AT_ONCE: Final = 100
_WAIT_SECONDS: Final = 20


class Events:
    """The tenant's feed of events."""

    def __init__(self, client: Requests) -> None:
        self._client = client

    def get(self, event_id: str) -> Event:
        answer: Event = self._client.request("GET", path_of("events", event_id))
        return answer

    def list(self, **query: Unpack[EventsQuery]) -> Iterator[Event]:
        """All events that fit. `limit` is that of a page."""
        return self._client.pages("/api/v1/events", "events", query=named(query))

    def follow(self, *, cursor: str | None = None, **query: Unpack[FollowQuery]) -> Iterator[Followed]:
        """All events from the feed's begin, or from `since`, and then each new one: never ends and never misses one.

        Keep the `cursor` of the last event that you have dealt with, and give it with the same query after a crash.
        Then the events of one page may come again, and none is left out. While the API cannot be reached, the follower
        asks again and again; it raises what asking again cannot help.
        """
        asked = named(query) | {"limit": _FOLLOWED_AT_ONCE, "wait_seconds": _WAIT_SECONDS}
        while True:
            try:
                page = self._client.request("GET", "/api/v1/events", query={**asked, "cursor": cursor})
            except (ConnectionFailed, DeadlineExceeded, RateLimited, Unavailable):
                self._client.rest()
                continue
            events, before = page["events"], cursor
            cursor = page["follow_cursor"] or cursor
            for place, event in enumerate(events, start=1):
                yield Followed(event=event, cursor=cursor if place == len(events) else before)
