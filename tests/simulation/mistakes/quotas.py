"""Mistakes about a tenant's quotas."""

from typing import Final

from tests.simulation.mistakes.bug import API, bug

_STORED: Final = f"{API}.limits.stored:StoredTasks"
_METER: Final = f"{API}.limits.meter:Meter"

BUGS: Final = (
    bug(
        "a tenant registers more than its quota",
        f"{_METER}._allowed",
        "return begins is not None",
        "return True",
        mix="rationed",
    ),
    bug(
        "what a copy registers for free begins anew with each request",
        f"{_METER}.take",
        "if now >= since + WINDOW:",
        "if True:",
        mix="rationed",
    ),
    bug(
        "a tenant stores more tasks than its quota",
        f"{_STORED}.refuse_above",
        "if count is None or",
        "if True or count is None or",
        mix="stored out",
    ),
    bug(
        "a copy forgets the tasks that it has added to the count of all copies",
        f"{_STORED}._share",
        "count.shared, count.read_at, count.own = sum(weeks.values()), now, Counter()",
        "count.read_at, count.own = now, Counter()",
        mix="stored out",
    ),
    bug(
        "a tenant has more in flight at a worker than its share",
        "functions.run_tasks.in_flight:Stalled.with_capacity",
        "if beginning[tenant] < free[tenant] and",
        "if",
        mix="confined",
    ),
    bug(
        "deliveries that are in flight do not count against the share",
        "functions.run_tasks.in_flight:InFlight.free",
        "self._share(tenant) - self._of_tenant[tenant]",
        "self._share(tenant)",
        mix="confined",
    ),
)
