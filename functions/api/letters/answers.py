"""Answers about dead letters."""

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from functions.api.answers import Count, Instant, described
from functions.api.forms import text_of
from functions.api.letters.show import DeadLetters, Group, ShownLetter
from postdate.domain.task import Task


class HistoryLine(TypedDict):
    at: Instant
    status: str
    reason: str


class DeadLetter(TypedDict):
    letter_id: Annotated[str, described("The id of its message.")]
    tenant: str | None
    item_id: Annotated[str | None, described("Null if the message cannot be read.")]
    version: Annotated[Count | None, described("The item's version that the letter calls.")]
    status: Annotated[str | None, described("Of the item, as it is now.")]
    error: str | None
    failure: Annotated[str, described("The error without ids and long numbers.")]
    destination: str | None
    attempts: Count | None
    age_seconds: Annotated[Count, described("Since it was sent to its queue.")]
    receives: Annotated[Count, described("How often it was received, this time included.")]
    payload_ref: str | None
    history: list[HistoryLine]


class LetterGroup(TypedDict):
    failure: str
    destination: str | None
    count: Count
    oldest: Instant


class DeadLetterList(TypedDict):
    queue: str
    letters: NotRequired[list[DeadLetter]]
    groups: NotRequired[
        Annotated[list[LetterGroup], described("With `group=failure`: instead of the letters.")]
    ]
    next_cursor: Annotated[str | None, described("Always null: there is one page.")]


def letter(shown: ShownLetter, letters: DeadLetters) -> DeadLetter:
    item, due = shown.item, shown.due
    return {
        "letter_id": shown.letter.id,
        "tenant": shown.letter.tenant or None,
        "item_id": None if due is None else due.id,
        "version": None if due is None else due.version,
        "status": None if item is None else item.state.value,
        "error": None if item is None else item.error,
        "failure": shown.failure,
        "destination": shown.destination,
        "attempts": None if item is None else item.attempts,
        "age_seconds": round(letters.age(shown.letter).total_seconds()),
        "receives": shown.letter.receives,
        "payload_ref": item.payload.ref if isinstance(item, Task) else None,
        "history": [
            {"at": text_of(line.at), "status": line.to.value, "reason": line.why}
            for line in (item.history if item is not None else ())
        ],
    }


def group(given: Group) -> LetterGroup:
    return {
        "failure": given.failure,
        "destination": given.destination,
        "count": given.count,
        "oldest": text_of(given.oldest),
    }
