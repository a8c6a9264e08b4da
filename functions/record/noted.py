"""Changes that a row's note tells, as events.

To record a further kind of subject: write its note with each change (`postdate.stores.notes`), add a module beside this
one whose `event_of` calls `events_of` with the kind, the owner and the fields that are told, and enter it in
`readers.py` with its table. Add the names of the events to `postdate.domain.event_types`, and let the table stream in
`infra/state.py`; `infra/functions/workers.py` names the tables that the recorder follows, and filters the records of
hot ones. Fields are told by name, never a row as a whole: so no secret gets into an event by being added to a row.
"""

from collections.abc import Mapping
from typing import Any

from functions.record.changes import Change
from postdate.domain.event import Actor, Event, Subject, differences
from postdate.stores.notes import COUNT, count_in, notes_in


def events_of(
    change: Change,
    subject: Subject,
    *,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    accounts: tuple[str, ...] = (),
    counter: str = COUNT,
) -> list[Event]:
    """The events that the notes of a row tell of, for one kind of subject; empty for a change that counted none.
    `before` and `after` are the fields to tell."""
    number = count_in(change.after, counter)
    if number == count_in(change.before, counter):
        return []
    notes = [note for note in notes_in(change.after) if note.type.partition(".")[0] == subject.kind]
    replaced = {} if before is None else {"before": differences(before, after)}
    return [
        Event(
            subject=subject,
            type=note.type,
            sequence=sequence,
            occurred_at=note.at,
            actor=Actor.parse(note.by),
            accounts=accounts,
            data={"after": dict(after), **replaced, **note.data},
        )
        for sequence, note in enumerate(notes, start=number - len(notes) + 1)
    ]


def there(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def text(row: Mapping[str, Any], name: str) -> str | None:
    return row[name]["S"] if name in row else None


def number(row: Mapping[str, Any], name: str) -> int | None:
    return int(row[name]["N"]) if name in row else None


def texts(row: Mapping[str, Any], name: str) -> list[str] | None:
    return sorted(each["S"] for each in row[name]["L"]) if name in row else None
