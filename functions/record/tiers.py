"""Tiers of the tenants whose items are counted in the operators' calendar."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from postdate.domain.errors import Unavailable
from postdate.runtime.cached import Cached
from postdate.runtime.clock import Clock
from postdate.runtime.metric import STANDARD
from postdate.runtime.observability import logger
from postdate.stores.tenants import Tenant

KEPT: Final = timedelta(minutes=10)


class Tiers:
    """Reads a tenant at most once in ten minutes and copy. A tenant that cannot be read counts as `standard`: the sums
    of all tiers stay right, and nothing is held up."""

    def __init__(self, tenant: Callable[[str], Tenant | None], *, clock: Clock) -> None:
        self._known = Cached(tenant, keep=KEPT, clock=clock)

    def of(self, tenant: str) -> str:
        try:
            found = self._known.get(tenant)
        except Unavailable:
            logger.warning("a tier is not known now", extra={"action": "tier_not_read"}, exc_info=True)
            return STANDARD
        return STANDARD if found is None else found.tier
