"""The engine starts a function's worker when it first needs one more, about a second each: that is done before."""

import os
import time
from datetime import datetime
from typing import Final

from cli.bench import tasks
from cli.bench.arriving import awaited
from cli.bench.bed import Bed
from cli.bench.plan import CLIENTS
from cli.failure import Failure
from cli.progress import step
from postdate.domain.due import Due, Packet, Via
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import KIND
from postdate.runtime.queue import SqsQueue

_CALLS: Final = 25 * CLIENTS
_TAKEN_AT_ONCE: Final = 10
_HELD_SECONDS: Final = 2.5
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
    """Calls for tasks that do not exist hold a worker until they are due: enough of them start all there may be.

    Then some real ones open the connections, and a tick starts the sweeper and its heartbeat.
    """
    with step("warming up the executors"):
        bed.sqs.send_message(QueueUrl=bed.stack.queues["ticks"], MessageBody='{"kind":"tick"}')
        now, due_at = tasks.now(), tasks.ahead(_HELD_SECONDS)
        queue = SqsQueue(url=bed.stack.queues["tasks"], client=bed.sqs)
        queue.send((_call_of_nothing(bed, due_at) for _ in range(bed.executors * _TAKEN_AT_ONCE)), now=now)
        _emptied(bed)
        _some_real_ones(bed)


def _call_of_nothing(bed: Bed, due_at: datetime) -> Packet:
    unique = os.urandom(UNIQUE_BYTES)
    slot = ShardPlan.parse(bed.environment["SHARD_PLAN"]).slot(due_at, unique)
    due = Due(id=item_id(KIND, slot, unique), version=1, due_at=due_at)
    return Packet(tenant="nobody", via=Via.REGISTRATION, dues=(due,))


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
