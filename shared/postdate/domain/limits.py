"""Limits of every tenant. Each limit is generous: it stops programs that run wild."""

from datetime import timedelta
from typing import Final

REGISTERED: Final = "registered"
REGISTERED_A_SECOND: Final = 1000
# By the tier of the tenant.
REGISTERED_A_SECOND_OF: Final = {"standard": REGISTERED_A_SECOND, "gold": 5 * REGISTERED_A_SECOND}
# The unused rest of a window may be registered at once.
WINDOW: Final = timedelta(seconds=10)
STORED: Final = "tasks_stored"
STORED_MAX: Final = 10_000_000
# Deliveries of one tenant that one worker has in flight at once.
IN_FLIGHT_A_WORKER: Final = 100
# Items of one operation.
OPERATED_A_SECOND_MAX: Final = 500
# Passes that one wake-up of the sweep makes or hands out.
PASSES_MAX: Final = 400
# Parts of one table that a reconciliation scans side by side.
SEGMENTS_MAX: Final = 32


def share_of_worker(runs_in_flight: int | None, workers: int) -> int:
    """The deliveries of a tenant that one of so many workers may have in flight. Together they have no more than the
    tenant's quota, so no worker asks another one. Each may have one, for any worker may get the tenant's next call."""
    if runs_in_flight is None:
        return IN_FLIGHT_A_WORKER
    return min(IN_FLIGHT_A_WORKER, max(1, runs_in_flight // workers))
