"""The fields of a cron expression: their syntax and the values that they name.

Forms that other schedulers read differently are refused; the error says how to write them here. croniter expands the
accepted forms.

Stored plans are parsed by this code again at each read. A form that was accepted once must stay accepted: a stricter
rule makes stored rows unreadable.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from postdate.domain.errors import ValidationFailed

_CHARACTERS_MAX: Final = 256
_NAMES: Final = "minute, hour, day of month, month, day of week"
_ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# `*`, a value or a range, each with an optional step: `*/5`, `MON`, `1-5/2`.
_TERM: Final = re.compile(
    r"(?:\*|([A-Z]+|[0-9]+)(?:-([A-Z]+|[0-9]+))?)(?:/([0-9]+))?", re.IGNORECASE | re.ASCII
)
# `H` of Jenkins and `R` of croniter draw a time by chance.
_BY_CHANCE: Final = re.compile(r"[RH](?![A-Z])", re.IGNORECASE)
# Forms of Quartz such as `5#2`, `L-3`, `15W` and `?`.
_BY_CALENDAR: Final = re.compile(r".*[#?].*|L-[0-9]+|(?:[0-9]*|[A-Z]{3})(?:L|W|LW)", re.IGNORECASE)
_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def values(fields: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The values that each of the five fields names, in order. Refuses, with a reason, what names none."""
    return _expanded(" ".join(field.plain(text) for field, text in zip(FIELDS, fields, strict=True)))


@lru_cache(maxsize=1024)
def _expanded(plain: str) -> tuple[tuple[int, ...], ...]:
    from croniter import (
        croniter,
    )  # most functions and most requests meet no cron, and the import takes 10 to 50 ms

    expanded, _ = croniter.expand(plain)
    return tuple(
        field.all if found == ["*"] else tuple(sorted(found))
        for field, found in zip(FIELDS, expanded, strict=True)
    )


def five_fields(text: str) -> tuple[str, str, str, str, str]:
    if len(text) > _CHARACTERS_MAX:
        _refuse(f"is longer than {_CHARACTERS_MAX} characters")
    if not (text.isascii() and text.replace("\t", " ").isprintable()):
        _refuse(f"has a character that no cron has: {text!a}")
    stripped = text.strip()
    if stripped.startswith("@") and stripped.lower() not in _ALIASES:
        _refuse(f"{stripped!r} is not offered: use {', '.join(_ALIASES)}, or five fields ({_NAMES})")
    fields = _ALIASES.get(stripped.lower(), stripped).split()
    if len(fields) == 6:
        _refuse(f"has six fields: seconds and years are not offered, it takes five ({_NAMES})")
    if len(fields) != 5:
        _refuse(f"has {len(fields)} fields: it takes five ({_NAMES})")
    minute, hour, day, month, weekday = fields
    # Vixie cron takes `*/2` for an unrestricted field and joins both days by 'and'. Other crons join them by
    # 'or'.
    for field, mine, other in ((DAYS, day, weekday), (WEEKDAYS, weekday, day)):
        if "*" in mine and "*" not in (mine, other):
            why = "some crons read as 'and', some as 'or', where the other kind of day is named too"
            field.refuse(
                f"{mine!r} {why}; write it as a range, which is 'or', such as {field.low}-{field.high}"
            )
    return minute, hour, day, month, weekday


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One of the five fields of a cron."""

    # The name for messages.
    name: str
    # The least value.
    low: int
    # The greatest value.
    high: int
    # The words for the values, the least value first; empty for a field of digits only.
    names: tuple[str, ...] = ()
    # True if the value after the greatest also means the least: 7 is Sunday, like 0.
    first_after_last: bool = False

    @property
    def all(self) -> tuple[int, ...]:
        return tuple(range(self.low, self.high + 1))

    def plain(self, text: str) -> str:
        """The field in digits, as croniter reads it correctly. Croniter reads a range from a value to the same value,
        such as 5-5, as every value."""
        return ",".join(map(self._plain, text.split(",")))

    def _plain(self, term: str) -> str:
        match = _TERM.fullmatch(term)
        if match is None:
            self.refuse(self._why_not(term))
        first, last, step = match.groups()
        if first is None:
            low, high = self.low, self.high
        else:
            low, high = self._value(first), self._value(last or first)
            if step and not last:
                self.refuse(f"{term!r}: a step needs a range, such as {first}-{self.high}/{step}")
            # A range such as SAT-0 ends with Sunday, which is also the value after Saturday.
            if self.first_after_last and high == self.low < low:
                high = self.high
        if low > high:
            self.refuse(
                f"{term!r} runs backwards: write two ranges, such as {low}-{self.high},{self.low}-{high}"
            )
        by = int(step or 1)
        if by == 0:
            self.refuse(f"{term!r}: a step is 1 or more")
        if step and by > high - low:
            self.refuse(
                f"{term!r}: the step is longer than its range, {low} to {high}; write the value itself"
            )
        return str(low) if low == high else f"{low}-{high}/{by}"

    def _value(self, text: str) -> int:
        if text.upper() in self.names:
            return self.low + self.names.index(text.upper())
        if not text.isdecimal():
            self.refuse(self._why_not(text))
        if not self.low <= int(text) <= self.high:
            self.refuse(f"{text} is not between {self.low} and {self.high}")
        return int(text)

    def _why_not(self, term: str) -> str:
        if _BY_CHANCE.match(term):
            return f"{term!r}: R and H, a time drawn by chance, are not offered; jitter_seconds spreads runs"
        if _BY_CALENDAR.fullmatch(term):
            return f"{term!r}: L, W, # and ? are not offered"
        names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"{term!r} is not understood: a value is {self.low} to {self.high}{names}"

    def refuse(self, why: str) -> NoReturn:
        _refuse(f"{self.name}: {why}")


def _refuse(why: str) -> NoReturn:
    raise ValidationFailed([("cron", why)])


MINUTES: Final = Field(name="minute", low=0, high=59)
HOURS: Final = Field(name="hour", low=0, high=23)
DAYS: Final = Field(name="day of month", low=1, high=31)
MONTHS: Final = Field(name="month", low=1, high=12, names=_MONTHS)
# A week that begins on another day ends with Sunday too: MON-SUN.
WEEKDAYS: Final = Field(name="day of week", low=0, high=7, names=_WEEKDAYS, first_after_last=True)
FIELDS: Final = (MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS)
