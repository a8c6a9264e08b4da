"""Packets of due tasks from one of two queues -> each delivered at its instant, its outcome committed."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from functions.run_tasks.batch import Worker
from functions.run_tasks.gate.admit import Gate
from functions.run_tasks.in_flight import InFlight
from functions.run_tasks.intake import Intake
from functions.run_tasks.lanes import Lane
from functions.run_tasks.run import TaskRunner
from functions.run_tasks.sending import Sender
from functions.run_tasks.stops import Stops
from functions.run_tasks.tally import TaskTally
from functions.run_tasks.wiring import wired
from postdate.runtime import dependencies, records
from postdate.runtime.observability import logger, metrics
from postdate.runtime.outbox import Outbox
from postdate.runtime.putting_back import put_back
from postdate.runtime.queue import Received

# The rest of the time that is left for outcomes.
_SECONDS_TO_SETTLE: Final = 10


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    lane = _lane(event["Records"])
    messages, unreadable = records.read(event["Records"])
    tally = TaskTally(packets=len(messages))
    try:
        with dependencies.of_this_process().guarding(), wired().parameters.fresh():
            until = dependencies.of_this_process().open_until(wired().needs)
            if until is None:
                tally = _runner(context, lane, messages).run(messages)
            else:
                tally.stopped, tally.failed_messages = _put_back(lane, messages, until)
    except Exception:
        # What was decided is stored or will be decided again; the messages bring it back.
        logger.exception("a batch stopped before its end", extra={"action": "batch_broke_off"})
        tally.failed_messages |= {message.message_id for message in messages}
    # After the work, so that a table that fails delays no call.
    wired().reporter.tell()
    failed = [message for message in messages if message.message_id in tally.failed_messages]
    lane.visibility.back_off(failed)
    tally.tell()
    ids = [*unreadable, *(message.message_id for message in failed)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in ids]}


def _put_back(lane: Lane, messages: Sequence[Received], until: datetime) -> tuple[int, set[str]]:
    """No call is looked at while the table of tasks does not answer."""
    outbox = Outbox(queue=lane.queue, dead_letters=wired().dead_letters)
    return put_back(messages, until=until, outbox=outbox, clock=wired().clock)


def _lane(event: Sequence[Mapping[str, Any]]) -> Lane:
    """The queue that the event comes from: all of its messages are of one."""
    slow = any(each.get("eventSourceARN", "").endswith(f":{wired().slow_lane.name}") for each in event[:1])
    return wired().slow_lane if slow else wired().tasks_lane


def _runner(context: Any, lane: Lane, messages: Sequence[Received]) -> TaskRunner:
    given = wired()

    def seconds_left() -> float:
        # The rest of the time is for the outcomes, which have to be written before Lambda ends the function.
        return float(context.get_remaining_time_in_millis()) / 1000 - _SECONDS_TO_SETTLE

    worker = Worker(
        clock=given.clock,
        holder=context.aws_request_id[:13],
        lease=given.lease,
        horizon=given.horizon,
        seconds_left=seconds_left,
        draw=random.random,
        # Parameters may change while the batch runs. One batch keeps one document.
        parameters=given.parameters.values,
    )
    sender = Sender(
        worker,
        targets=given.targets,
        payloads=given.tables.payloads,
        own=given.own_payloads,
        tenants=given.tenants.get_many,
        vault=given.vault,
        response_seconds_max=given.response_seconds_max,
        subscribed=given.subscribed,
    )
    in_flight = InFlight(lambda tenant: sender.share_of(tenant, given.workers))
    return TaskRunner(
        worker,
        tasks=given.tables.tasks,
        chain=given.chain,
        gate=Gate(
            flow=given.tables.flow,
            circuits=given.circuits,
            flow_keys=given.flow_keys,
            stops=Stops(given.switchboard, given.clock),
            clock=given.clock,
            lease=given.lease,
            # A call in the slow lane has no slower lane to move to.
            moves_slow=given.moves_slow and lane is given.tasks_lane,
        ),
        sender=sender,
        outbox=Outbox(queue=lane.queue, dead_letters=given.dead_letters, slow=given.slow_lane.queue),
        intake=Intake(
            worker,
            event=messages,
            further=lane.further,
            extend=lane.visibility.extend,
            back_off=lane.visibility.back_off,
            in_flight=in_flight,
        ),
        in_flight=in_flight,
    )
