"""Figures from samples: exact, by nearest rank; nothing is estimated or smoothed."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

DIGITS: Final = 3


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest sample that at least `percent` of all samples do not exceed."""
    if not ordered:
        raise ValueError("no samples")
    return ordered[max(1, math.ceil(percent * len(ordered) / 100)) - 1]


def spread(samples: Iterable[float], *percents: float, prefix: str = "") -> dict[str, float]:
    """`p50_ms` and so on, and `max_ms`; nothing at all of no samples."""
    ordered = sorted(samples)
    if not ordered:
        return {}
    named = {f"{prefix}p{percent:g}_ms": rounded(percentile(ordered, percent)) for percent in percents}
    return named | {f"{prefix}max_ms": rounded(ordered[-1])}


def rounded(value: float, digits: int = DIGITS) -> float:
    """To so many significant digits: what a run of this length can tell, and no more. Whole numbers stay whole."""
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return float(round(value))
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def ratio(ours: float, floor: float) -> float | None:
    return rounded(ours / floor) if floor else None
