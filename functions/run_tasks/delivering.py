"""Deliveries of claimed tasks, from their start to what their receipts mean.

Destinations work in threads of their own and report into the worker's inbox; all else here runs in the worker's thread.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from functions.run_tasks.batch import Batch, Change, Worker
from functions.run_tasks.circuits import circuit
from functions.run_tasks.gate.admit import Gate
from functions.run_tasks.in_flight import InFlight
from functions.run_tasks.sending import Sender
from postdate.domain import transitions
from postdate.domain.parameters import DEFAULTS, Parameters
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import Ack, Task
from postdate.domain.transitions import Failure, Transition
from postdate.runtime.agenda import Call
from postdate.targets.base import Delivered, Delivery, Failed, Receipt, Untried

_UNTRIED_PAUSE: Final = timedelta(seconds=5)
_TOO_MANY: Final = 429
_SERVER: Final = 500

Finished = tuple[Delivery, Receipt]


class Delivering:
    """`running` are the deliveries whose outcome is not committed, by run and token."""

    def __init__(
        self,
        batch: Batch,
        worker: Worker,
        *,
        sender: Sender,
        gate: Gate,
        in_flight: InFlight,
        report: Callable[[Finished], None],
    ) -> None:
        self._batch = batch
        self._worker = worker
        self._sender = sender
        self._gate = gate
        self._in_flight = in_flight
        self._inbox = report
        self.running: dict[tuple[str, int], tuple[Task, Call]] = {}

    @property
    def tasks(self) -> list[Task]:
        return [task for task, _ in self.running.values()]

    @property
    def calls(self) -> list[Call]:
        return [call for _, call in self.running.values()]

    def begin(self, claimed: Iterable[Change]) -> None:
        tally, started = self._batch.tally, []
        for call, change in claimed:
            task = change.after
            tally.claimed += 1
            self._batch.trace(task, "claimed", task.history[-1].why)
            # A delivery has no instant that it could be late for: it follows an event that has been recorded.
            if (
                task.is_claimed_first
                and not task.is_delivery
                and (lateness_ms := task.lateness_ms) is not None
            ):
                tally.lateness_ms.append(lateness_ms)
                tally.tier_lateness_ms[self._sender.tier_of(task.tenant)].append(lateness_ms)
            self.running[task.id, task.token] = (task, call)
            started.append(task)
        # The time that this takes is the worker's own, and makes no destination slow.
        self._sender.prefetch(started)
        now = self._worker.clock.now()
        for task in started:
            self._in_flight.begin((task.id, task.token), circuit(task.tenant, task.destination), now)
        self._sender.start(started, self._report, unsent=self._unsent)

    def ended(self, finished: Iterable[Finished], now: datetime) -> list[Change]:
        """Returns the changes of tasks whose deliveries have ended. The tasks stay RUNNING until a commit of these."""
        changes = []
        for delivery, receipt in finished:
            task, call = self.running[delivery.run_id, delivery.token]
            self._in_flight.end((delivery.run_id, delivery.token), now)
            self._count(task, receipt, now)
            if task.is_delivery:
                self._sender.ended(task, receipt)
            parameters = self._worker.parameters
            retry = None if parameters is DEFAULTS else retry_of(task, parameters)
            changes.append((call, outcome(task, receipt, now=now, draw=self._worker.draw(), retry=retry)))
        return changes

    def tier_of(self, task: Task) -> str:
        return self._sender.tier_of(task.tenant)

    def _count(self, task: Task, receipt: Receipt, now: datetime) -> None:
        tally = self._batch.tally
        if not isinstance(receipt, Untried):
            tally.execution_ms.append((now - task.history[-1].at) / timedelta(milliseconds=1))
        if not isinstance(receipt, Delivered):
            tally.failure_classes[class_of(receipt)] += 1

    def forget(self, changes: Iterable[Transition]) -> None:
        for change in changes:
            self.running.pop((change.before.id, change.before.token))

    def _report(self, delivery: Delivery, receipt: Receipt) -> None:
        """Called by whichever thread ends a delivery. The breaker learns nothing from a delivery that did not reach its
        destination."""
        if isinstance(receipt, Untried) or (isinstance(receipt, Failed) and not receipt.heard):
            self._gate.breakers.not_sent(delivery)
        else:
            self._gate.breakers.hear(delivery, receipt)
        self._inbox((delivery, receipt))

    def _unsent(self, delivery: Delivery, receipt: Receipt) -> None:
        """Notes a delivery that was not sent. It tells nothing about its destination."""
        self._gate.breakers.not_sent(delivery)
        self._inbox((delivery, receipt))


def retry_of(task: Task, parameters: Parameters) -> RetryPolicy:
    """The retry policy of an attempt: the task's own, changed by the setting of its arm if the task takes part in the
    experiment `task_retries`, and bounded by `parameters.task_retries`."""
    experiment = parameters.experiments.task_retries
    arm = experiment.arm(task.tenant, task.id)
    policy = task.retry if arm is None else experiment.setting(arm).of(task.retry)
    return parameters.task_retries.within(policy)


def outcome(
    task: Task, receipt: Receipt, *, now: datetime, draw: float, retry: RetryPolicy | None
) -> Transition:
    """The change of a task that the receipt of its delivery means."""
    if isinstance(receipt, Untried):
        return transitions.release(task, now=now, until=now + (1 + draw) * _UNTRIED_PAUSE, why=receipt.reason)
    if isinstance(receipt, Delivered) and task.ack is Ack.EXPLICIT:
        return transitions.accept(task, now=now)
    if isinstance(receipt, Delivered):
        why = "delivered" if receipt.http_status is None else f"http {receipt.http_status}"
        return transitions.succeed(task, now=now, why=why)
    failure = Failure(
        why=receipt.reason, final=not receipt.retry, retry_after_seconds=receipt.retry_after_seconds
    )
    return transitions.fail(task, now=now, failure=failure, draw=draw, retry=retry)


def class_of(receipt: Failed | Untried) -> str:
    """Returns a name of `metric.ATTEMPTS_FAILED`."""
    match receipt:
        case Untried(is_queued=queued):
            return "queued" if queued else "untried"
        case Failed(http_status=int() as status):
            if status >= _SERVER:
                return "server_error"
            return "throttled" if status == _TOO_MANY else "refused"
        case Failed(down=True):
            return "unreachable"
        case Failed(retry=False):
            return "not_allowed"
    return "no_answer"
