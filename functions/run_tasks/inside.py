"""Targets inside Postdate: a delivery to such a target is one step of long work, such as a backfill.

Each step runs in a thread of a small pool of its own, so it makes no other call late. A step that fails is a failed
attempt of its task, with the retries and the dead letter of any task.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from postdate.domain.errors import InvalidState, Unavailable
from postdate.runtime.clock import Clock
from postdate.targets.base import Delivered, Delivery, Failed, Receipt, Report, Untried, internal_error


@dataclass(frozen=True, kw_only=True, slots=True)
class InsideTarget(ABC):
    clock: Clock
    # The threads that carry out steps.
    pool: Executor

    @abstractmethod
    def carry_out(self, delivery: Delivery) -> None:
        """Carries out one step, whose order is the payload. Raises Unavailable to try again without counting the
        attempt, and InvalidState if the step makes no sense any more."""

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        for delivery in deliveries:
            self.pool.submit(self._deliver, delivery, report)

    def _deliver(self, delivery: Delivery, report: Report) -> None:
        """Carries out a step and reports its receipt, in a thread of the pool."""
        receipt: Receipt
        try:
            self.carry_out(delivery)
            receipt = Delivered()
        except Unavailable:
            receipt = Untried(reason="a table or a queue did not answer in time")
        except InvalidState as error:
            receipt = Failed(reason=str(error), retry=False)
        except Exception as error:
            receipt = internal_error(error)
        report(delivery, receipt)
