"""Broken runs that were made small, each with the mistake that broke it.

With its mistake in the code one of the first seeds still breaks; without it all of them hold. A mix that finds its
mistake no more has to be made anew, by `postdate-sim --shrink`.
"""

from dataclasses import dataclass
from typing import Final

SEEDS: Final = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    mistake: str
    given: str


KEPT: Final = (
    Kept(
        mistake="a key's item is made anew by the next try",
        given='{"rates": {"not reached": 0.02, "throttled": 0.005, "done in part": 0.02}, "latency": 200000, '
        '"executors": 1, "clients": 1, "requests": 1, "impatient": 0.6, "attempts": 1, "accounts": 2, '
        '"payments": 0.0, "pause": 1000000, "span": 30000000, "money": 0.0, "batches": 0.0, "timeouts": [30], '
        '"waits_max": 61, "planned_for": 180000000, "ends_within": 20000000, "newer": 1.0}',
    ),
    Kept(
        mistake="an earlier worker extends the lease (no token check)",
        given='{"delayed": 0.05, "clients": 1, "requests": 1, "tempers": ["takes", "refuses", "asks for time", '
        '"is slow", "takes and resets", "never answers"], "attempts": 2, "accounts": 2, "payments": 0.0, '
        '"pause": 1000000, "span": 30000000, "money": 0.0, "batches": 0.0, "timeouts": [30], "explicit": 1.0}',
    ),
    Kept(
        mistake="a message is deleted although its retry could not be sent",
        given='{"rates": {"throttled": 0.08}, "sticky": 0.9, "skew": 5000000, "clients": 1, "requests": 10, '
        '"tempers": ["takes", "refuses"], "attempts": 2, "accounts": 2, "payments": 0.0, "pause": 1000000, '
        '"span": 60000000, "money": 0.0, "batches": 0.0, "timeouts": [30]}',
    ),
    Kept(
        mistake="a field of newer code hides the writer's own change",
        given='{"rates": {"500, done": 0.15}, "executors": 1, "clients": 1, "requests": 1, "attempts": 1, '
        '"accounts": 2, "payments": 0.0, "pause": 1000000, "span": 30000000, "money": 0.0, "batches": 0.8, '
        '"timeouts": [30], "control": {"share": 0.9, "rate": 2, "period": 4, "parallelism": 1}, "newer": 1.0}',
    ),
)
