"""Work that a new stack does only once, done before the measurement."""

import time
from typing import Final

from bench import payments as paying
from bench import tasks
from bench.arriving import awaited
from bench.bed import Bed
from bench.plan import CLIENTS
from cli.failure import Failure
from cli.progress import step

_CALLS: Final = 25 * CLIENTS
_TASKS: Final = 800
_AHEAD_SECONDS: Final = 6
_PATIENCE_SECONDS: Final = 90
_PAYMENTS: Final = 400
_LOOK_EVERY_SECONDS: Final = 0.5
_batched_per_second: dict[str, float] = {}


def api(bed: Bed) -> None:
    with step("warming up the API"):
        far = tasks.ahead(86_400 * 30)
        forms = [tasks.form(destination, far, 0) for destination in bed.destinations]
        tasks.register(bed, forms * (_CALLS // len(forms)))
        tasks.register_batches(bed, forms * _CALLS, CLIENTS)


def executors(bed: Bed) -> None:
    """Tasks of both kinds open the workers' connections, and a tick starts the sweeper and its heartbeat."""
    with step("warming up the executors"):
        bed.sqs.send_message(QueueUrl=bed.stack.queues["ticks"], MessageBody='{"kind":"tick"}')
        _some_real_ones(bed)


def _some_real_ones(bed: Bed) -> None:
    due_at = tasks.ahead(_AHEAD_SECONDS)
    for destination in bed.destinations:
        destination.clear()
        forms = [tasks.form(destination, due_at, number) for number in range(_TASKS // 2)]
        tasks.register_batches(bed, forms, 1)
    for destination in bed.destinations:
        if not awaited(destination, _TASKS // 2, due_at, _PATIENCE_SECONDS):
            raise Failure(f"The tasks for the warm-up did not all arrive ({destination.name}).")


def payments(bed: Bed) -> float:
    """Accounts with money, the API's routes for them, and some payments that open the workers' connections. Answers
    how many a second were registered in batches: what is to be due at one instant needs that time before it. Done
    once for a stack."""
    url = bed.stack.api_url
    if url not in _batched_per_second:
        _batched_per_second[url] = _paid(bed)
    return _batched_per_second[url]


def _paid(bed: Bed) -> float:
    with step("warming up payments"):
        bed.sqs.send_message(QueueUrl=bed.stack.queues["ticks"], MessageBody='{"kind":"tick"}')
        paying.provide_accounts(bed)
        pairs = paying.spread_pairs(_PAYMENTS)
        alone = paying.register_all(bed, pairs[:_CALLS], _AHEAD_SECONDS).answers
        due_at = tasks.ahead(_AHEAD_SECONDS)
        forms = [paying.form(pair, due_at) for pair in pairs[_CALLS:]]
        batched = paying.register_batches(bed, forms, CLIENTS)
        waiting = {*alone, *(id for ids in batched.answers for id in ids)}
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while waiting:
            if time.monotonic() > deadline:
                raise Failure(f"{len(waiting)} of the payments for the warm-up are not settled.")
            time.sleep(_LOOK_EVERY_SECONDS)
            found = paying.kept(bed, waiting).values()
            waiting -= {payment.id for payment in found if payment.state.is_final}
    return len(forms) / batched.seconds
