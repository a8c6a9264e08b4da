"""The feed of events for asyncio. `python client/generate.py` writes `feed.py` from this file."""

from collections.abc import AsyncIterator
from typing import Final, Unpack

from postdate_client.answers import Event
from postdate_client.async_requests import AsyncRequests
from postdate_client.errors import ConnectionFailed, DeadlineExceeded, RateLimited, Unavailable
from postdate_client.events import Followed
from postdate_client.queries import EventsQuery, FollowQuery
from postdate_client.values import named, path_of

_FOLLOWED_AT_ONCE: Final = 100
_WAIT_SECONDS: Final = 20


class AsyncEvents:
    """The tenant's feed of events."""

    def __init__(self, client: AsyncRequests) -> None:
        self._client = client

    async def get(self, event_id: str) -> Event:
        answer: Event = await self._client.request("GET", path_of("events", event_id))
        return answer

    def list(self, **query: Unpack[EventsQuery]) -> AsyncIterator[Event]:
        """All events that fit. `limit` is that of a page."""
        return self._client.pages("/api/v1/events", "events", query=named(query))

    async def follow(
        self, *, cursor: str | None = None, **query: Unpack[FollowQuery]
    ) -> AsyncIterator[Followed]:
        """All events from the feed's begin, or from `since`, and then each new one: never ends and never misses one.

        Keep the `cursor` of the last event that you have dealt with, and give it with the same query after a crash.
        Then the events of one page may come again, and none is left out. While the API cannot be reached, the follower
        asks again and again; it raises what asking again cannot help.
        """
        asked = named(query) | {"limit": _FOLLOWED_AT_ONCE, "wait_seconds": _WAIT_SECONDS}
        while True:
            try:
                page = await self._client.request("GET", "/api/v1/events", query={**asked, "cursor": cursor})
            except (ConnectionFailed, DeadlineExceeded, RateLimited, Unavailable):
                await self._client.rest()
                continue
            events, before = page["events"], cursor
            cursor = page["follow_cursor"] or cursor
            for place, event in enumerate(events, start=1):
                yield Followed(event=event, cursor=cursor if place == len(events) else before)
