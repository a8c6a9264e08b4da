"""Answer about the limits of a tenant."""

from typing import Annotated

from typing_extensions import TypedDict

from functions.api.answers import Count, described
from postdate.domain.backfill import RUNS_MAX
from postdate.domain.limits import STORED_MAX, WINDOW, share_of_worker
from postdate.domain.task import DEPTH_MAX
from postdate.stores.tenants import Tenant


class Limit(TypedDict):
    limit: Count


class UsedLimit(Limit):
    used: Annotated[Count, described("The number at present, in steps of some hundreds.")]


class WindowLimit(UsedLimit):
    window_seconds: Count


class WorkersLimit(Limit):
    per_worker: Annotated[Count, described("The share of one worker.")]


class TenantLimits(TypedDict):
    tier: Annotated[
        str, described("The tenant's tier. Without a quota of its own `registered` follows from it.")
    ]
    registered: Annotated[
        WindowLimit,
        described(
            "The number of tasks and payments that may be registered in a window. The unused rest of a window may be "
            "registered at once."
        ),
    ]
    tasks_stored: Annotated[
        UsedLimit,
        described(
            "One-time tasks that are stored. A task counts until 37 days after the week in which it is due."
        ),
    ]
    runs_in_flight: Annotated[
        WorkersLimit,
        described(
            "Deliveries that are on their way at once, at all workers. Each worker has an equal share of at least "
            "one."
        ),
    ]
    depth: Annotated[Limit, described("The greatest `Postdate-Depth` of a request that registers something.")]
    runs_in_backfill: Annotated[Limit, described("Runs of one backfill.")]


def limits(tenant: Tenant, *, registered: int, tasks_stored: int, workers: int) -> TenantLimits:
    share = share_of_worker(tenant.tenancy.runs_in_flight, workers)
    window_seconds = int(WINDOW.total_seconds())
    return {
        "tier": tenant.tier,
        "registered": {
            "limit": tenant.quota * window_seconds,
            "used": registered,
            "window_seconds": window_seconds,
        },
        "tasks_stored": {"limit": STORED_MAX, "used": tasks_stored},
        "runs_in_flight": {"limit": share * workers, "per_worker": share},
        "depth": {"limit": DEPTH_MAX},
        "runs_in_backfill": {"limit": RUNS_MAX},
    }
