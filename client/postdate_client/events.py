"""The values that a follower of the feed receives."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """An event, and the place to go on after it. `cursor` is None as long as that place is the feed's begin."""

    event: dict[str, Any]
    cursor: str | None
