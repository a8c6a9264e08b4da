from dataclasses import dataclass
from typing import Final

CLIENTS: Final = 4
BATCH: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Size of each case: `items` in a burst, `calls` of each kind to the API, `rates` for `seconds` each.

    `payment_rates` as well, but for half of that when there are too many to be registered one by one. `stored` are
    numbers of pending items, the smallest first.
    """

    items: int
    calls: int
    seconds: int
    rates: tuple[int, ...]
    payment_rates: tuple[int, ...]
    stored: tuple[int, ...] = (10_000, 100_000)
