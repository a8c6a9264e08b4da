"""Types of the answers about events. `python client/describe.py` writes this file from the API's description."""

from typing import Any, Literal, NotRequired, TypedDict, final

from postdate_client.answers.instant import Instant


@final
class Actor(TypedDict):
    type: Literal["key", "function", "operation", "unknown"]
    id: str


@final
class Subject(TypedDict):
    kind: str
    id: str
    account_ids: NotRequired[list[str]]


@final
class Event(TypedDict):
    event_id: str
    type: str
    sequence: int
    occurred_at: Instant
    recorded_at: Instant | None
    actor: Actor
    subject: Subject
    data: dict[str, Any]
    reconstructed: NotRequired[bool]
