"""Lines of history as texts inside rows, for tasks and payments alike.

A text is the version, the instant, the state, the attempt, the reason and the author. The author stands last, so that
releases that know no authors read it as a part of the reason. A reason may repeat a receiver's words, so no reason
keeps a text that would look like an author.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from postdate.domain import instants

_BEFORE_AUTHOR: Final = "\t"
_AUTHOR: Final = re.compile(r"(key|function|operation):[\x21-\x7e]+")


class SharedLine(Protocol):
    """The fields that lines of tasks and of payments share."""

    @property
    def version(self) -> int: ...

    @property
    def at(self) -> datetime: ...

    @property
    def to(self) -> StrEnum: ...

    @property
    def attempt(self) -> int: ...

    @property
    def why(self) -> str: ...

    @property
    def by(self) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredLine:
    """A history line as a row keeps it."""

    # The version that the line describes.
    version: int
    # The instant of the decision.
    at: datetime
    # The name of the state after the change.
    to: str
    # The number of attempts so far.
    attempt: int
    # The reason.
    why: str
    # The author; empty for a worker.
    by: str


def text_of(line: SharedLine, *, why: str | None = None) -> str:
    """The line as a text; with `why`, that reason in place of the line's own."""
    reason = signed(line.why if why is None else why, line.by)
    return f"{line.version} {instants.milliseconds(line.at)} {line.to.value} {line.attempt} {reason}"


def parts_of(text: str) -> StoredLine:
    version, at, to, attempt, told = text.split(" ", 4)
    why, by = reason_and_author(told)
    return StoredLine(
        version=int(version),
        at=instants.from_milliseconds(int(at)),
        to=to,
        attempt=int(attempt),
        why=why,
        by=by,
    )


def signed(why: str, by: str) -> str:
    reason = why.replace(_BEFORE_AUTHOR, " ")
    return f"{reason}{_BEFORE_AUTHOR}{by}" if by else reason


def reason_and_author(text: str) -> tuple[str, str]:
    """The author is empty in a line that names none."""
    why, tab, by = text.rpartition(_BEFORE_AUTHOR)
    return (why, by) if tab and _AUTHOR.fullmatch(by) else (text, "")
