"""The answers about events."""

from typing import Annotated, Any, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from functions.api.answers import Cursor, Instant, Partial, described
from postdate.domain import event, event_body


class Actor(TypedDict):
    type: Annotated[
        str,
        Field(json_schema_extra={"enum": ["key", "function", "operation", "aws", "unknown"]}),
        described("`unknown` for a change that was made before authors were noted."),
    ]
    id: Annotated[
        str, described("The id of the key or operation, the name of the function, or the identity in AWS.")
    ]


class Subject(TypedDict):
    kind: Annotated[str, described("The first part of the event's type.")]
    id: str
    account_ids: NotRequired[Annotated[list[str], described("The accounts that the event is about.")]]


class Event(TypedDict):
    event_id: Annotated[str, described("The same however often the event is recorded, delivered or read.")]
    type: str
    sequence: Annotated[int, Field(ge=1), described("The subject's version: from 1, without a gap.")]
    occurred_at: Instant
    recorded_at: Annotated[Instant | None, described("When it was recorded; null until then.")]
    actor: Actor
    subject: Subject
    data: Annotated[
        dict[str, Any],
        described(
            "`after` has the subject's fields after the change, `before` the values that the change replaced. "
            "There are no payloads, no headers and no secrets."
        ),
    ]
    reconstructed: NotRequired[
        Annotated[bool, described("True for an event that was made from the subject's own history.")]
    ]


class EventList(TypedDict):
    events: list[Event]
    next_cursor: Cursor
    follow_cursor: Annotated[
        str | None,
        described(
            "Where a follower of the feed goes on, now or later, on the last page too; null before the first event "
            "and with `order=desc`."
        ),
    ]
    partial: Partial


class SubjectEvents(TypedDict):
    events: list[Event]
    next_cursor: Cursor


def of(given: event.Event) -> Event:
    """The same fields as in the body of a delivery."""
    return cast(Event, event_body.body_of(given))
