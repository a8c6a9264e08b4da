"""The policy for occurrences that passed while no worker looked."""

from datetime import timedelta
from enum import StrEnum
from typing import Final

BACKLOG_RUNS_MAX: Final = 1000
WINDOW_MAX: Final = timedelta(days=31)


class CatchUp(StrEnum):
    """Within the window, LATEST runs the newest occurrence and ALL the newest 1,000; NONE runs none."""

    LATEST = "latest"
    ALL = "all"
    NONE = "none"
