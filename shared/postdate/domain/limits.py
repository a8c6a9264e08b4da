"""What any tenant may do, in one place. Each limit is generous: it is there for programs that run wild."""

from datetime import timedelta
from typing import Any, Final

from postdate.domain.backfill import RUNS_MAX
from postdate.domain.task import DEPTH_MAX

REGISTERED: Final = "registered"
REGISTERED_A_SECOND: Final = 1000
# What was not used of a window may be registered at once.
WINDOW: Final = timedelta(seconds=10)
# Runs of one tenant that one worker may have on their way at once.
IN_FLIGHT_A_WORKER: Final = 100


def told() -> dict[str, Any]:
    return {
        "registered": {
            "limit": REGISTERED_A_SECOND * int(WINDOW.total_seconds()),
            "window_seconds": int(WINDOW.total_seconds()),
        },
        "runs_in_flight_per_worker": {"limit": IN_FLIGHT_A_WORKER},
        "depth": {"limit": DEPTH_MAX},
        "runs_in_backfill": {"limit": RUNS_MAX},
    }
