"""The processes that the functions run in, as far as they can be told apart from outside."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from cli.local.own import FUNCTION
from cli.local.place import Place

# A worker that is still starting has nothing in hand, and the engine may not yet know what to make of its end.
AWAKE_SECONDS: Final = 5


def ticks(pid: int) -> int:
    """Processor time that the process has used; 0 when unknown."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(after_name[11]) + int(after_name[12])


class _Known(NamedTuple):
    since: float
    used: int
    worked_at: float


class Workers:
    """Told to look now and then, it knows how old they are and which of them have worked lately. `group` answers the
    processes whose command names what it is given."""

    def __init__(
        self,
        place: Place,
        group: Callable[[str], list[int]],
        *,
        now: Callable[[], float] = time.monotonic,
        used: Callable[[int], int] = ticks,
    ) -> None:
        self._folder = f"{place.temporary}/ministack-lambda-"
        self._group, self._now, self._used = group, now, used
        self._known: dict[int, _Known] = {}

    def look(self) -> None:
        now, before = self._now(), self._known
        self._known = {}
        for pid in self._group(self._folder):
            used, known = self._used(pid), before.get(pid)
            worked_at = now if known is None or known.used != used else known.worked_at
            self._known[pid] = _Known(known.since if known else now, used, worked_at)

    def awake(self, function: str) -> list[int]:
        """Processes in the order of their latest work; in no order where processor times are unknown."""
        self.look()
        awake_since = self._now() - AWAKE_SECONDS
        mine = set(self._group(f"{self._folder}{FUNCTION.format(function)}-"))
        found = {
            pid: known for pid, known in self._known.items() if pid in mine and known.since < awake_since
        }
        return sorted(found, key=lambda pid: found[pid].worked_at, reverse=True)
