"""A tenant's settings that operators decide."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenancy:
    """The settings of one tenant. Only requests of operators change them."""

    # The tenant's own quota of registrations a second; None for that of the tier.
    registered_a_second: int | None = None
    # The tenant's own bound of deliveries in flight; None for the usual one.
    runs_in_flight: int | None = None
    # The span over which its one-time tasks are spread, if a request names none; 0 for no spread.
    spread_seconds: int = 0
    # The reason why the tenant registers nothing; None while it may.
    suspended_because: str | None = None
    # True if its due items wait until the tenant is resumed.
    pending_waits: bool = False
    # The new name of its money once an operator has begun to erase it; None before.
    erased_as: str | None = None
    # 0 for rows of older releases, one more with each change by an operator.
    version: int = 0


# A tenant that no operator has changed.
USUAL: Final = Tenancy()
