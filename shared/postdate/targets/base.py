"""A delivery to a destination, and its result."""

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from postdate.domain.task import Ack, Destination

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One attempt of one run. What a log must not hold is left out of its repr.

    `depth` is that of its task. `payload` is JSON text in UTF-8. `signing_secrets` are the endpoint's (`whsec_…`), two
    while one replaces the other. `allowed` are the addresses of this kind on the tenant's list as it stands now, not as
    it stood at registration. With `ack` explicit, the receiver needs the token of this very attempt.
    """

    run_id: str
    task_id: str
    tenant: str
    attempt: int
    token: int
    planned_at: datetime
    timeout_seconds: float
    destination: Destination = field(repr=False)
    payload: bytes = field(repr=False)
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    allowed: frozenset[str] = frozenset()
    ack: Ack = Ack.RESPONSE
    depth: int = 0

    def __post_init__(self) -> None:
        if self.planned_at.tzinfo is None:
            raise ValueError("planned_at needs an offset")

    @property
    def depth_told(self) -> int:
        """The depth of whatever this delivery registers."""
        return self.depth + 1

    @property
    def body(self) -> bytes:
        """The payload; a run without one carries the JSON text `null`, for a queue takes no empty message."""
        return self.payload or b"null"


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivered:
    """The destination took it."""

    http_status: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """The destination did not take it, or nobody knows whether it did.

    `reason` is for the task's owner: short, our words only, nothing of what the other side wrote.
    `retry` says whether another attempt makes sense; when, and how many, is the policy's to say. `down` means that
    the destination itself is in trouble: whatever else was sent there now would fare no better.
    """

    reason: str
    retry: bool = True
    retry_after_seconds: float | None = None
    http_status: int | None = None
    down: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Untried:
    """A delivery that was not sent, for a reason inside Postdate. The attempt does not count, and the destination has
    no part in it."""

    reason: str


Receipt: TypeAlias = Delivered | Failed | Untried
Report: TypeAlias = Callable[[Delivery, Receipt], None]


class Target(Protocol):
    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        """Puts every delivery on its way and returns; `report` is called once for each, from whichever thread ends it.

        Whatever a destination does wrong is a `Failed`, never raised.
        """


def internal_error(error: Exception) -> Failed:
    """The receipt when our own code is at fault: reported like any other, or its executor would wait for ever.

    The log names class and place only; a message could quote a header or a body.
    """
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("action=deliver outcome=internal_error error=%s\n%s", type(error).__name__, places)
    return Failed(reason="internal error")
