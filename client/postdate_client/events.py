"""The values that a follower of the feed receives."""

from dataclasses import dataclass

from postdate_client.answers import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """An event, and the place to go on after it. `cursor` is None as long as that place is the feed's begin."""

    event: Event
    cursor: str | None
