"""The lines of a task's history, as its row keeps them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.task import HistoryLine, State
from postdate.stores import history

_MILLISECOND = timedelta(milliseconds=1)
_BEFORE_WORKER: Final = "\x1f"


def line_text(line: HistoryLine) -> str:
    """The text of a history line. For a claim, the worker and the milliseconds of its lease stand behind the reason;
    older code reads both as part of the reason. Only lines that say RUNNING are read that way: their reasons are ours,
    while other reasons may repeat any text of a receiver."""
    if line.worker is None or line.lease_until is None:
        return history.text_of(line)
    lease = (line.lease_until - line.at) // _MILLISECOND
    return history.text_of(line, why=f"{line.why}{_BEFORE_WORKER}{line.worker} {lease}")


def first_claimed_at(history: Iterable[str]) -> datetime | None:
    """The instant at which a task's first attempt began, from the lines of its row; None before it."""
    return next((line.at for line in map(line_of, history) if line.to is State.RUNNING), None)


def line_of(text: str) -> HistoryLine:
    """Reads the text of a line, see `line_text`."""
    line = history.parts_of(text)
    why, _, claim = line.why.partition(_BEFORE_WORKER) if line.to == State.RUNNING else (line.why, "", "")
    worker, _, lease = claim.rpartition(" ")
    return HistoryLine(
        version=line.version,
        at=line.at,
        to=State(line.to),
        attempt=line.attempt,
        why=why,
        worker=worker or None,
        lease_until=line.at + int(lease) * _MILLISECOND if lease else None,
        by=line.by,
    )
