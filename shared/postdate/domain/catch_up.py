"""The policy for occurrences that passed without a run, such as during an outage."""

from datetime import timedelta
from enum import StrEnum
from typing import Final

BACKLOG_RUNS_MAX: Final = 1000
WINDOW_MAX: Final = timedelta(days=31)


class CatchUp(StrEnum):
    """LATEST runs the newest occurrence within the window, ALL the newest 1,000 within the window, NONE none."""

    LATEST = "latest"
    ALL = "all"
    NONE = "none"
