"""How many deliveries one worker has on their way at once, and how many of them may be one tenant's.

Deliveries that hang keep places and nothing else: the worker goes on with other calls. A tenant whose share is used up
waits for its own deliveries, and only while they end; after a second without an end its calls are sent on.
"""

from collections import Counter, OrderedDict
from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Final

PLACES: Final = 250
TENANT_PLACES: Final = 100
PATIENCE: Final = timedelta(seconds=1)


class Places:
    def __init__(self) -> None:
        self._began: OrderedDict[Hashable, tuple[str, datetime]] = OrderedDict()
        self._taken: Counter[str] = Counter()
        self._ended: dict[str, datetime] = {}

    @property
    def taken(self) -> int:
        return len(self._began)

    @property
    def oldest(self) -> datetime | None:
        """When the delivery began that has been on its way for longest."""
        return next((began for _, began in self._began.values()), None)

    @property
    def free_in_all(self) -> int:
        return PLACES - self.taken

    def free(self, tenant: str) -> int:
        return max(0, min(self.free_in_all, TENANT_PLACES - self._taken[tenant]))

    def begin(self, delivery: Hashable, tenant: str, now: datetime) -> None:
        self._began[delivery] = tenant, now
        self._taken[tenant] += 1

    def end(self, delivery: Hashable, now: datetime) -> None:
        tenant, _ = self._began.pop(delivery)
        self._taken[tenant] -= 1
        self._ended[tenant] = now

    def patience_ends(self, tenant: str, since: datetime) -> datetime:
        """How long a call of this tenant waits for a place that it has waited for since then."""
        return max(since, self._ended.get(tenant, since)) + PATIENCE
