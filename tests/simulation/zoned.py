"""The one zone whose clocks a new time-zone database moves, in two versions; and what its clocks show."""

from datetime import timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from tests.simulation.hub import SECOND, Hub
from tests.simulation.mix import Mix
from tests.zones import zone

ZONE: Final = "Asia/Kolkata"
_AHEAD: Final = timedelta(hours=5, minutes=30)


def found(name: str, mix: Mix, hub: Hub) -> ZoneInfo:
    """The zone as the database has it now."""
    if name != ZONE or mix.zone_moves is None:
        return ZoneInfo(name)
    return _version(ahead(name, mix, hub.began, hub.now))


def ahead(name: str, mix: Mix, began: int, at: int) -> timedelta:
    """Returns the offset of the zone from UTC by the database of that instant, in a run that began then."""
    if name != ZONE:
        return timedelta(0)
    moved = mix.zone_moves is not None and at >= began + mix.zone_moves[0]
    return _AHEAD + timedelta(seconds=mix.zone_moves[1] // SECOND) if moved and mix.zone_moves else _AHEAD


@cache
def _version(ahead: timedelta) -> ZoneInfo:
    return zone(ZONE, ahead)
