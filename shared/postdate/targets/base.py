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
    """One attempt of one run, as a target receives it. Its repr leaves out all that a log must not hold."""

    # The id of the run, by which a receiver recognises a repeated delivery.
    run_id: str
    # The id that the owner registered, see `Task.task_id`.
    task_id: str
    # The owner of the task.
    tenant: str
    # The number of the attempt since the registration or the last redrive.
    attempt: int
    # The fencing token of the claim. With an explicit acknowledgement the receiver sends it back.
    token: int
    # The instant of the request.
    planned_at: datetime
    # The longest wait for the answer, never beyond the life of the worker.
    timeout_seconds: float
    # The destination that receives the call, with readable headers.
    destination: Destination = field(repr=False)
    # JSON text in UTF-8; empty for a run without a payload.
    payload: bytes = field(repr=False)
    # The secrets that sign the call (`whsec_…`): two while one replaces the other, none if the tenant has none.
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    # The addresses of this kind on the tenant's list as it is now, not as it was at registration.
    allowed: frozenset[str] = frozenset()
    # The event that ends the run.
    ack: Ack = Ack.RESPONSE
    # The depth of the task, see `Task.depth`.
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

    # The status of the answer; None for destinations without one.
    http_status: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """A call that the destination refused, or whose outcome nobody knows."""

    # The reason for the task's owner: short, in our words, nothing that the other side wrote.
    reason: str
    # True if another attempt makes sense. The retry policy decides when, and how often.
    retry: bool = True
    # The wait that the destination asked for; None if it asked for none.
    retry_after_seconds: float | None = None
    # The status of an HTTP answer; None without an answer.
    http_status: int | None = None
    # True if the destination itself is in trouble: any other call there would fail as well.
    down: bool = False
    # False if the destination was not asked, or if it is not known: its breaker then learns nothing.
    heard: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Untried:
    """A delivery that was not sent, for a reason inside Postdate. The attempt does not count, and the destination has
    no part in it."""

    # The reason, in words for the owner.
    reason: str
    # True if other deliveries of the worker kept it waiting until its time was over: nothing is broken.
    is_queued: bool = False


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
    frames = "".join(traceback.format_tb(error.__traceback__))
    _log.error("action=deliver outcome=internal_error error=%s\n%s", type(error).__name__, frames)
    return Failed(reason="internal error", heard=False)
