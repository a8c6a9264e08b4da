"""Counts in the report of an operation: outcomes, failures by their text, and the share that stops it."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from postdate.domain.operation import StopRule
from postdate.domain.operation_pages import Entry, Outcome, Page

# Names in a report; the others are counted together.
_NAMES_MAX: Final = 20
_OTHERS: Final = "others"
# Fewer attempts than these tell nothing about a share.
SAMPLE_MIN: Final = 10
# UUIDs, hexadecimal texts from 12 digits on, and numbers from four digits on.
_IDS: Final = re.compile(r"\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|\d{4,})\b", re.IGNORECASE)
_FINGERPRINT_MAX: Final = 120


def counted(pages: Iterable[Page]) -> dict[Outcome, int]:
    return dict(Counter(entry.outcome for page in pages for entry in page.entries))


def too_many_failed(rule: StopRule, entries: Iterable[Entry], *, now: datetime) -> bool:
    """True if the share of failed ones among the known ends of the newest attempts reaches the rule's."""
    known = [
        each.outcome
        for each in entries
        if each.outcome in (Outcome.DONE, Outcome.FAILED)
        and each.at is not None
        and each.at >= now - rule.within
    ]
    return len(known) >= SAMPLE_MIN and known.count(Outcome.FAILED) >= rule.failed_share * len(known)


def most_common(names: Iterable[str]) -> dict[str, int]:
    """Counts of the most common entries; all others are counted together."""
    counted = Counter(names).most_common()
    told = Counter(dict(counted[:_NAMES_MAX]))
    told.update({_OTHERS: sum(count for _, count in counted[_NAMES_MAX:])} if counted[_NAMES_MAX:] else {})
    return dict(told)


def fingerprint(error: str | None) -> str:
    """A failure without what differs from one item to the next: ids and long numbers."""
    return _IDS.sub("…", error or "no error was recorded")[:_FINGERPRINT_MAX]
