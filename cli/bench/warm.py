"""The engine starts a function's worker when it first needs one more, about a second each: that is done before."""

import time
from typing import Final

from cli.bench import tasks
from cli.bench.arriving import awaited
from cli.bench.bed import Bed
from cli.bench.plan import CLIENTS
from cli.failure import Failure
from cli.progress import step

_CALLS: Final = 25 * CLIENTS
_TAKEN_AT_ONCE: Final = 10
_HELD_SECONDS: Final = 4
_TASKS: Final = 800
_AHEAD_SECONDS: Final = 6
_PATIENCE_SECONDS: Final = 90
_COUNTS: Final = ("", "NotVisible", "Delayed")


def api(bed: Bed) -> None:
    with step("warming up the API"):
        far = tasks.ahead(86_400 * 30)
        forms = [tasks.form(destination, far, 0) for destination in bed.destinations]
        tasks.register(bed, forms * (_CALLS // len(forms)))
        tasks.register_batches(bed, forms * _CALLS, CLIENTS)


def executors(bed: Bed) -> None:
    """Tasks of one message each hold a worker until they are due: enough of them start all there may be.

    Then packets open the connections, and a tick starts the sweeper and its heartbeat.
    """
    with step("warming up the executors"):
        bed.sqs.send_message(QueueUrl=bed.stack.queues["ticks"], MessageBody='{"kind":"tick"}')
        due_at = tasks.ahead(_HELD_SECONDS)
        kinds = list(bed.destinations)
        held = range(bed.executors * _TAKEN_AT_ONCE)
        tasks.register(bed, [tasks.form(kinds[number % len(kinds)], due_at, number) for number in held])
        _emptied(bed)
        _some_real_ones(bed)


def _emptied(bed: Bed) -> None:
    names = [f"ApproximateNumberOfMessages{suffix}" for suffix in _COUNTS]
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        counts = bed.sqs.get_queue_attributes(QueueUrl=bed.stack.queues["tasks"], AttributeNames=names)
        if not any(int(count) for count in counts["Attributes"].values()):
            return
        if time.monotonic() > deadline:
            raise Failure("The executors did not start in time.")
        time.sleep(0.25)


def _some_real_ones(bed: Bed) -> None:
    due_at = tasks.ahead(_AHEAD_SECONDS)
    for destination in bed.destinations:
        destination.clear()
        forms = [tasks.form(destination, due_at, number) for number in range(_TASKS // 2)]
        tasks.register_batches(bed, forms, 1)
    for destination in bed.destinations:
        if not awaited(destination, _TASKS // 2, due_at, _PATIENCE_SECONDS):
            raise Failure(f"The tasks for the warm-up did not all arrive ({destination.name}).")
