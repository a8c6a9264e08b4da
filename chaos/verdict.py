"""The result of a check: the number of things it looked at, and the wrong ones. A check without anything to look at
proves nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_TOLD_MAX: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    looked_at: int
    wrong: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.looked_at > 0 and not self.wrong

    @property
    def observed(self) -> str:
        if not self.wrong:
            return f"{self.looked_at} looked at" if self.looked_at else "nothing to look at"
        told = "; ".join(self.wrong[:_TOLD_MAX])
        return f"{len(self.wrong)} wrong of {self.looked_at}: {told}"


def of(findings: Iterable[str | None]) -> Verdict:
    """Collects one finding for each checked item; None for an item without a fault."""
    found = list(findings)
    return Verdict(looked_at=len(found), wrong=tuple(each for each in found if each is not None))


def unless(holds: bool, what: str) -> Iterator[str | None]:
    yield None if holds else what
