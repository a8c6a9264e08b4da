"""A tenant's settings that operators decide."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenancy:
    """`registered_a_second`: the tenant's own quota; None for the tier's. `runs_in_flight`: the tenant's own bound of
    deliveries in flight; None for the usual one. `spread_seconds`: the default of its one-time tasks.
    `suspended_because`: why the tenant registers nothing; None while it may. `pending_waits`: true if what is due
    waits until the tenant is resumed. `erased_as`: the new name of its money once an operator has begun to erase it;
    None before. `version`: one more with each change by an operator; 0 for rows of older
    releases."""

    registered_a_second: int | None = None
    runs_in_flight: int | None = None
    spread_seconds: int = 0
    suspended_because: str | None = None
    pending_waits: bool = False
    erased_as: str | None = None
    version: int = 0


# A tenant that no operator has changed.
USUAL: Final = Tenancy()
