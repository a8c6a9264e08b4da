"""The answers of the gate to the claims of one batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from postdate.domain.transitions import Transition


@dataclass(frozen=True, kw_only=True, slots=True)
class Waits:
    """The place of the run is near: this worker handles the same call again at that instant."""

    # The instant of the next look.
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowLane:
    """The destination is slow: the call goes to the lane for slow destinations."""


Admitted = Transition | Waits | SlowLane | None
# A claim with its index among the claims at the gate.
Claim = tuple[int, Transition]
Answers = Iterator[tuple[int, Admitted]]
# Yields an answer for each claim that does not pass. A claim without an answer goes to the next step.
Step = Callable[[list[Claim], datetime], Answers]
