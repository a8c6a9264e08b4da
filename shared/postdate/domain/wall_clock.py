"""The clocks of a zone. A wall time is a naive datetime; it occurs once, twice or never.

Each has one instant all the same: the first at which the clocks show that time or a later one. A time that is skipped
is thereby the first instant after the gap, and one that comes twice is the first of both. A later wall time never has
an earlier instant.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from postdate.domain.errors import ValidationFailed

_SECOND: Final = timedelta(seconds=1)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")
_NAME_CHARACTERS_MAX: Final = 64
# A machine's own zone, and copies of the database by other rules: found on some machines, and not by IANA's names.
_NOT_OF_IANA: Final = frozenset({"localtime", "posixrules", "Factory", "posix", "right"})


def zone_named(name: str) -> ZoneInfo:
    if (
        len(name) <= _NAME_CHARACTERS_MAX
        and _NAME.fullmatch(name)
        and name.partition("/")[0] not in _NOT_OF_IANA
    ):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name of a folder, such as Europe
            pass
    known = (
        f"{name[:_NAME_CHARACTERS_MAX]!r} is no time zone of IANA's: name one such as Europe/Berlin or UTC"
    )
    raise ValidationFailed([("timezone", known)])


def shown(zone: ZoneInfo, instant: datetime) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def first_shown(zone: ZoneInfo, wall: datetime) -> datetime:
    """The first instant at which the clocks show this wall time or a later one; wall times are of whole seconds."""
    at = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if shown(zone, at) == wall:
        return at
    # The clocks skip this time. The change lies between the instants that the offsets after and before it give.
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    while at - before > _SECOND:
        middle = before + (at - before) // _SECOND // 2 * _SECOND
        if shown(zone, middle) < wall:
            before = middle
        else:
            at = middle
    return at


def comes_twice(zone: ZoneInfo, wall: datetime) -> bool:
    first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return first < second


def skipped_from(zone: ZoneInfo, at: datetime) -> datetime:
    """The wall time from which the clocks skip to the one shown at this instant. The shown wall time itself if the
    clocks do not skip."""
    return min(shown(zone, at), shown(zone, at - _SECOND) + _SECOND)
