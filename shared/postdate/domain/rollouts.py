"""Flags and experiments: a share of tenants or items, always the same ones for one name and one percentage.

A hash of the name and of the tenant or item gives a number from 0 to 99, so a larger share contains the smaller one,
and two flags choose independently of each other.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from postdate.domain.described import bounded, chosen, names, section
from postdate.domain.retry import RetryPolicy

BY_TENANT: Final = "tenant"
BY_ITEM: Final = "item"
_REMEMBERED: Final = 10_000


@lru_cache(maxsize=_REMEMBERED)
def percentile_of(name: str, subject: str) -> int:
    """A number from 0 to 99, the same in each process."""
    return int.from_bytes(hashlib.sha256(f"{name}:{subject}".encode()).digest()[:8]) % 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Flag:
    """A feature that is on for a share of the tenants, and for some of them in any case. `off` counts before `on`."""

    percent: int = bounded(0, least=0, most=100, meaning="Share of the tenants for which it is on.")
    on: tuple[str, ...] = names(meaning="Tenants for which it is on, whatever the share is.")
    off: tuple[str, ...] = names(meaning="Tenants for which it is off, whatever the share is.")

    def is_on(self, name: str, tenant: str) -> bool:
        if tenant in self.off:
            return False
        return tenant in self.on or percentile_of(name, tenant) < self.percent


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrySetting:
    """One setting of the strategy of retries."""

    first_pause_percent: int = bounded(
        100, least=10, most=1000, meaning="First pause, as a share of the pause that the task asks for."
    )
    longest_pause_percent: int = bounded(
        100, least=10, most=100, meaning="Longest pause, as a share of the pause that the task asks for."
    )

    def of(self, policy: RetryPolicy) -> RetryPolicy:
        return replace(
            policy,
            initial_seconds=policy.initial_seconds * self.first_pause_percent / 100,
            max_seconds=policy.max_seconds * self.longest_pause_percent / 100,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryExperiment:
    """Two settings of the retries of tasks, side by side. The rest keeps its own policy and belongs to no arm."""

    percent: int = bounded(
        0, least=0, most=50, meaning="Share of arm a, and as much again of arm b; 0 ends the experiment."
    )
    by: str = chosen(
        BY_TENANT,
        among=(BY_TENANT, BY_ITEM),
        meaning="Whether all tasks of a tenant have one arm, or each task its own.",
    )
    a: RetrySetting = section(RetrySetting)
    b: RetrySetting = section(RetrySetting)

    def arm(self, tenant: str, item: str) -> str | None:
        """`a`, `b`, or None for what takes no part."""
        if not self.percent:
            return None
        percentile = percentile_of("task_retries", tenant if self.by == BY_TENANT else item)
        # The arms grow from both ends: a larger share moves no member from one arm to the other.
        if percentile < self.percent:
            return "a"
        return "b" if percentile >= 100 - self.percent else None

    def setting(self, arm: str) -> RetrySetting:
        return self.a if arm == "a" else self.b
