"""The note of a row: its newest change that is told as an event.

Rows of accounts, keys, tenants and flow keys also change in ways that no event tells: a payment moves a balance, a key
is used. So their versions do not number their events. A change that is told counts one up in the row and writes its
note, in the same write. The recorder reads both, see `functions/record/noted.py`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from postdate.domain import instants
from postdate.stores.attributes import AttributeMap, compact

NOTE: Final = "note"
# The number of the row's changes that were told, and of those of another kind of subject in the same row.
COUNT: Final = "events"
ROTATIONS: Final = "rotations"


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A change of a row that is told as an event."""

    # The type of the event that follows from the change, such as `account.frozen`.
    type: str
    # The instant of the change.
    at: datetime
    # The author as `<type>:<id>`; empty if nobody is known.
    by: str = ""
    # Values of the event that the row does not keep.
    data: Mapping[str, Any] = field(default_factory=dict)


def text_of(notes: Sequence[Note]) -> str:
    return compact([[each.type, instants.milliseconds(each.at), each.by, dict(each.data)] for each in notes])


def notes_in(row: AttributeMap) -> list[Note]:
    """Several only where one write made several changes."""
    if NOTE not in row:
        return []
    return [
        Note(type=type, at=instants.from_milliseconds(at), by=by, data=data)
        for type, at, by, data in json.loads(row[NOTE]["S"])
    ]


def count_in(row: AttributeMap, counter: str = COUNT) -> int:
    """0 for a row of a release that told no events of it."""
    return int(row[counter]["N"]) if counter in row else 0


def first(note: Note) -> AttributeMap:
    """The attributes of a new row."""
    return {COUNT: {"N": "1"}, NOTE: {"S": text_of([note])}}
