"""isolation: how late one tenant's webhooks are beside another tenant's that hang or do not resolve, and how soon the
calls that wait for a receiver arrive when it is back."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from bench import batches, tasks, warm
from bench.arriving import awaited, judged
from bench.bed import Bed
from bench.dead_names import dead_names, write
from bench.destinations import WebhookDestination, receiver
from bench.figures import percentile, spread
from bench.outcome import Arrival, Outcome
from bench.plan import Plan
from bench.report import Line
from bench.stream import sleep_until
from cli.client import Client
from cli.progress import step
from postdate.domain.breaker import PROBE_EVERY
from postdate.domain.slots import ShardPlan
from postdate.runtime.clock import SystemClock
from postdate.runtime.queue import SqsQueue

TENANT: Final = "demo"
COUNT: Final = 100
SPAN_SECONDS: Final = 10
MOVED_MS_MAX: Final = 100
_AHEAD_SECONDS: Final = 6
_PATIENCE_SECONDS: Final = 60

HANGS: Final = 60
HANGS_APART_SECONDS: Final = 0.15
HANGS_SECONDS: Final = 40
_FIRST_HANGS_SECONDS: Final = 2

DEAD_NAMES: Final = 240

OUTAGE_SECONDS: Final = 120
WAITING: Final = 40
TO_OPEN: Final = 12
_OPENED_BY_SECONDS: Final = 8
BACK_WITHIN_SECONDS: Final = 30


def isolation(bed: Bed, plan: Plan) -> Iterator[Line]:
    """`late` counts the tasks beyond what the promise allows: one in a hundred later than p99 alone and 100 ms, and
    none more than 30 s after the receiver's return."""
    warm.api(bed)
    warm.executors(bed)
    with step(f"{COUNT} webhooks of one tenant, alone"):
        alone, told = _steady(bed)
    yield _line("webhooks alone", alone, told)
    with receiver() as hanging:
        with step(f"the same beside {HANGS} webhooks that hang"), _hanging(bed, hanging):
            beside, told = _steady(bed)
        yield _line(f"beside {HANGS} webhooks that hang", beside, told) | {"late": late_beside(alone, beside)}
        with step("waiting for the end of what hangs"):
            time.sleep(HANGS_SECONDS)
    with step(f"the same beside {DEAD_NAMES} dead names"):
        _register_dead_names(bed)
        beside, told = _steady(bed)
    yield _line(f"beside {DEAD_NAMES} dead names", beside, told) | {"late": late_beside(alone, beside)}
    with receiver() as away, step(f"an outage of {OUTAGE_SECONDS} s"):
        line = _outage(bed, away)
    yield line


def late_beside(alone: Outcome, beside: Outcome) -> int:
    """Number of tasks that are too late for the allowed movement of the p99."""
    most = percentile(sorted(alone.lateness_ms), 99) + MOVED_MS_MAX
    allowed = len(beside.lateness_ms) - math.ceil(0.99 * len(beside.lateness_ms))
    return max(0, sum(lateness >= most for lateness in beside.lateness_ms) - allowed)


def _line(what: str, found: Outcome, told: dict[str, float]) -> Line:
    return {"case": "isolation", "what": what, "count": COUNT, **found.figures(), **told}


def _steady(bed: Bed) -> tuple[Outcome, dict[str, float]]:
    """Webhooks of the other tenant, one each 0.1 s: how they arrived, and what their rows say."""
    bed.webhook.clear()
    due = _spread(tasks.ahead(_AHEAD_SECONDS), SPAN_SECONDS, COUNT)
    with Client(bed.stack.api_url, bed.stack.other_tenant_key) as client:
        ids = _registered(client, bed.webhook, due)
    due_ms = dict(zip(ids, map(tasks.ms, due), strict=True))
    return judged(bed.webhook, due_ms, due[-1], _PATIENCE_SECONDS), tasks.own_account(bed, due_ms)


def _spread(begin: datetime, seconds: float, count: int) -> list[datetime]:
    return [begin + timedelta(milliseconds=1000 * seconds * place // count) for place in range(count)]


def _registered(client: Client, to: WebhookDestination, due: Iterable[datetime]) -> list[str]:
    forms = [tasks.form(to, due_at, number) for number, due_at in enumerate(due)]
    return batches.ids(client.post(f"{tasks.PATH}/batch", {"tasks": forms}).expect(200), "task")


@contextmanager
def _hanging(bed: Bed, hanging: WebhookDestination) -> Iterator[None]:
    """Each is due when it is registered, so each comes in a message of its own. The first ones hang at the start."""
    form: dict[str, Any] = {
        "delay_seconds": 0,
        "target": hanging.hanging_target,
        "timeout_seconds": HANGS_SECONDS,
        "retry": {"max_attempts": 1},
    }

    def register() -> None:
        with bed.client() as client:
            for _ in range(HANGS):
                client.post(tasks.PATH, form).expect(201)
                time.sleep(HANGS_APART_SECONDS)

    with ThreadPoolExecutor(1) as registering:
        registered = registering.submit(register)
        time.sleep(_FIRST_HANGS_SECONDS)
        yield
        registered.result()


def _register_dead_names(bed: Bed) -> None:
    due = _spread(tasks.ahead(_AHEAD_SECONDS), SPAN_SECONDS, DEAD_NAMES)
    queue = SqsQueue(url=bed.stack.queues["tasks"], client=bed.sqs, clock=SystemClock())
    plan = ShardPlan.parse(bed.environment["SHARD_PLAN"])
    write(dead_names(TENANT, due, plan), tasks.kept(bed), queue)


def _outage(bed: Bed, away: WebhookDestination) -> Line:
    """Opens the breaker with some tasks; the other tasks become due while the receiver is away."""
    away.goes_down()
    begin = tasks.ahead(_AHEAD_SECONDS)
    waits = OUTAGE_SECONDS - _OPENED_BY_SECONDS - 1
    due = [
        *([begin] * TO_OPEN),
        *_spread(begin + timedelta(seconds=_OPENED_BY_SECONDS), waits, WAITING),
    ]
    with bed.client() as client:
        ids = _registered(client, away, due)
    sleep_until(begin + timedelta(seconds=OUTAGE_SECONDS))
    away.comes_back()
    returned_ms = tasks.ms(tasks.now())
    awaited(away, len(away.arrivals()) + len(ids), tasks.now(), BACK_WITHIN_SECONDS + SPAN_SECONDS)
    return outage(ids, away.arrivals(), returned_ms)


def outage(ids: Sequence[str], arrivals: Sequence[Arrival], returned_ms: float) -> Line:
    """`late` are tasks that came too late or not at all after the return, `unsound` calls before it that are neither
    one of those that opened the breaker nor a probe."""
    first: dict[str, float] = {}
    for arrival in arrivals:
        if arrival.at_ms >= returned_ms:
            first.setdefault(arrival.task_id, arrival.at_ms - returned_ms)
    missing = len(set(ids) - first.keys())
    calls = sum(arrival.at_ms < returned_ms for arrival in arrivals)
    probes = math.ceil(OUTAGE_SECONDS / PROBE_EVERY.total_seconds())
    return {
        "case": "isolation",
        "what": f"a receiver is back after {OUTAGE_SECONDS} s",
        "count": len(first) + missing,
        **spread(first.values(), 50, 99),
        "calls_while_down": calls,
        "missing": missing,
        "late": sum(after >= 1000 * BACK_WITHIN_SECONDS for after in first.values()),
        "unsound": max(0, calls - TO_OPEN - probes),
    }
