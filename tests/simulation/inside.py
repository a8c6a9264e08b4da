"""The surroundings of our code in the simulation: clocks, threads, ids and AWS.

It is put in once and for the whole process, which does nothing else. Everything that our code reaches for goes through
the actor that runs at that moment: its skewed clock, its own copy of what a function keeps from event to event.
"""

import concurrent.futures
import logging
import os
import queue
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, Final
from zoneinfo import ZoneInfo

os.environ |= {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "POWERTOOLS_METRICS_DISABLED": "true",
    "POWERTOOLS_SERVICE_NAME": "simulation",
}

import botocore
import botocore.endpoint
import botocore.retries.quota
import botocore.useragent
import pynamodb.connection.base

from functions.api import forms, wiring
from functions.api import handler as api
from functions.archive import handler as archive
from functions.erase import handler as erase
from functions.operate import handler as operate
from functions.record import handler as record
from functions.run_tasks import handler as run_tasks
from functions.run_tasks import run as run_tasks_run
from functions.run_tasks import wiring as run_tasks_wiring
from functions.settle import handler as settle
from functions.sweep import handler as sweep
from postdate.domain import backfill, wall_clock
from postdate.runtime import aws, clock, deadline, dependencies, observability
from postdate.runtime.metric import Metric, Unit
from postdate.stores import batch_get, passes_dynamo
from postdate.stores.ledger_dynamo import DynamoLedger
from tests.machine import Interpreted
from tests.simulation import quick
from tests.simulation.aws_client import made_client
from tests.simulation.engine import Engine
from tests.simulation.guards import Guards
from tests.simulation.hub import SECOND, Hub
from tests.simulation.memory import Memory
from tests.simulation.mix import SHARDS_PER_GROUP
from tests.simulation.newer import form_of_newer_code
from tests.simulation.threads import QUOTAS, AtOnce, Inbox, Quota
from tests.simulation.wire import Wire

SETTINGS: Final = {
    "SHARDS_PER_GROUP": str(SHARDS_PER_GROUP),
    "LISTING_SHARDS": "2",
    "TICK_SECONDS": "150",
    "OPEN_LEAD_SECONDS": "120",
    "OPEN_MARGIN_SECONDS": "60",
    "LEASE_SECONDS": "40",
    "RETENTION_DAYS": "35",
    "EVENTS_KEPT_DAYS": "400",
    "PAYMENTS_KEPT_DAYS": "400",
    "OIDC": "none",
    "PARAMETERS": "none",
    "EVENTS_BUS": "",
    "EVENTS_DLQ_URL": "https://sqs.us-east-1.amazonaws.com/000000000000/sim-events-dlq",
    "LOOPBACK_DESTINATIONS": "true",
    "RESPONSE_TIMEOUT_SECONDS_MAX": "900",
    "ACCOUNT_AMOUNT_CAP": "5000000",
    "SLOW_LANE": "true",
    "TASK_WORKERS": "16",
    "WAITING_REQUESTS": "4",
    "PAYLOADS_BUCKET": "sim-payloads",
    "ARCHIVE_BUCKET": "sim-archive",
    "REPORTS_BUCKET": "sim-reports",
    "ERASURE_DRAIN_SECONDS": "120",
    "ERASURE_STREAMS_SECONDS": "90000",
    "ERASURE_FORGOTTEN_SECONDS": "1200",
    "PAYLOADS_ROLE_ARN": "arn:aws:iam::000000000000:role/sim-payload-reader",
    "OPERATION_MACHINE_ARN": "arn:aws:states:us-east-1:000000000000:stateMachine:sim-operation",
    "ERASE_MACHINE_ARN": "arn:aws:states:us-east-1:000000000000:stateMachine:sim-erase",
    "ERASE_FUNCTION": "sim-erase",
    "ALARM_PREFIX": "postdate-sim-",
    "PAYMENT_ATTEMPTS_MAX": "3",
    "PAYMENT_RETRY_SECONDS": "2",
    "PAYMENT_RETRY_MAX_SECONDS": "300",
}
HANDLERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "api": api.handler,
    "sweep": sweep.handler,
    "run_tasks": run_tasks.handler,
    "settle": settle.handler,
    "operate": operate.handler,
    "record": record.handler,
    "archive": archive.handler,
    "erase": erase.handler,
}
_WIRINGS: Final[dict[str, ModuleType]] = {
    "api": wiring,
    "sweep": sweep,
    "run_tasks": run_tasks_wiring,
    "settle": settle,
    "operate": operate,
    "record": record,
    "archive": archive,
    "erase": erase,
}


class Inside:
    """The one place that knows which run is going on."""

    hub: Hub
    counted: Callable[[str, float], None]
    wire: Wire
    overdue: Callable[[list[str]], None]
    zone: Callable[[str], ZoneInfo]
    operate: Callable[[dict[str, Any]], Any]

    def __init__(self) -> None:
        self.engine = Engine()
        calls = {"Operate": lambda event: self.operate(event)}
        self.machine = Interpreted(name="operation", calls=calls, clock=_Clock(self))
        self.engine.now = lambda: self.hub.now if hasattr(self, "hub") else 0
        self.measured: Callable[[Metric, float], None] = lambda metric, value: None
        self._ids = random.Random(0)
        self.guards = Guards()
        self._deadlines: dict[str, deadline.Deadline] = defaultdict(deadline.Deadline)
        _put_in(self)

    def begin(
        self,
        hub: Hub,
        *,
        counted: Callable[[str, float], None],
        wire: Wire,
        overdue: Callable[[list[str]], None],
        zone: Callable[[str], ZoneInfo],
        operate: Callable[[dict[str, Any]], Any],
        breakers: bool,
    ) -> None:
        self.hub, self.counted, self.wire, self.overdue, self.zone = hub, counted, wire, overdue, zone
        self.operate = operate
        self.guards.begin(are_on=breakers, counted=lambda name: counted(name, 1))
        self._ids.seed(hub.draws.getrandbits(64))
        random.seed(hub.draws.getrandbits(64))
        QUOTAS.clear()
        self._deadlines.clear()
        self.engine.reset()

    def emitted(self, metric: Metric, value: float) -> None:
        if metric.unit is Unit.COUNT:
            self.counted(metric.name, value)
        self.measured(metric, value)

    def drawn_bytes(self, count: int) -> bytes:
        return self._ids.randbytes(count)

    @cache  # noqa: B019 - it lives as long as the process
    def client(self, service: str, **options: Any) -> Any:
        return made_client(self, service, **options)

    @cache  # noqa: B019 - it lives as long as the process
    def _made(self, kind: str, number: int, shards: int) -> tuple[Any, Memory]:
        os.environ |= {**self._environment(), "SHARD_PLAN": f"0={shards}"}
        with self.guards.making() as keeps:
            made = _ORIGINAL_WIRED[kind].__wrapped__()
            keeps(made)
        return made, Memory.of(made)

    def wired(self, kind: str, number: int, shards: int) -> Any:
        """A worker that remembers nothing of earlier runs."""
        made, memory = self._made(kind, number, shards)
        memory.restore()
        return made

    def deadline(self) -> deadline.Deadline:
        """A worker's own, as if it were a process."""
        actor = self.hub.current
        return deadline.Deadline() if actor is None else self._deadlines[actor.name]

    def _environment(self) -> dict[str, str]:
        from tests import tables

        found = SETTINGS | {f"{name.upper()}_TABLE": f"sim-{name}" for name in tables.KEYS}
        found["SECRETS_KEY_ID"] = self.engine.secrets_key
        for name, url in self.engine.urls.items():
            found[f"{name.upper().replace('-', '_')}_QUEUE_URL"] = url
            if name.endswith("-dlq"):
                found[f"{name[:-4].upper()}_DLQ_URL"] = url
        return found


class _Clock:
    """The state machine's, which is right."""

    def __init__(self, inside: Inside) -> None:
        self._inside = inside

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._inside.hub.now / SECOND, UTC)

    def sleep_until(self, instant: datetime) -> None:
        seconds = (instant - self.now()).total_seconds()
        self._inside.hub.park(max(0, round(seconds * SECOND)))


_FOR_EVER: Final = ExitStack()
_ORIGINAL_WIRED: Final = {kind: module.wired for kind, module in _WIRINGS.items()}


def _put_in(inside: Inside) -> None:
    quick.models(inside.drawn_bytes)
    botocore.retries.quota.RetryQuota = Quota
    botocore.useragent.UserAgentString.to_string = lambda self: "simulation"
    AtOnce.inside = Inbox.inside = Quota.inside = inside
    _FOR_EVER.enter_context(inside.machine.engine())
    aws.client = inside.client
    pynamodb.connection.base.Connection.client = property(lambda connection: inside.client("dynamodb"))
    botocore.endpoint.time = SimpleNamespace(time=lambda: 0.0, sleep=lambda seconds: _sleep(inside, seconds))
    DynamoLedger.__init__.__kwdefaults__["pause"] = lambda seconds: _sleep(inside, seconds)
    DynamoLedger.post = _told_apart(inside, DynamoLedger.post)
    batch_get.time = SimpleNamespace(
        monotonic=lambda: inside.hub.now / SECOND, sleep=lambda seconds: _sleep(inside, seconds)
    )
    clock.time = SimpleNamespace(time_ns=lambda: _now(inside) * 1000, time=lambda: _now(inside) / SECOND)
    clock.threading = SimpleNamespace(
        Event=lambda: SimpleNamespace(wait=lambda seconds: _sleep(inside, seconds))
    )
    wall_clock.ZoneInfo = lambda name: inside.zone(name)
    run_tasks_run.queue = SimpleNamespace(SimpleQueue=Inbox, Empty=queue.Empty)
    passes_dynamo.secrets = SimpleNamespace(token_hex=lambda count: inside.drawn_bytes(count).hex())
    os.urandom = inside.drawn_bytes
    # A time gone by that is backfilled has three runs at most here, so that some take several steps.
    backfill.STEP_RUNS = 2
    # And an execution of an operation goes on in another one after some minutes.
    operate.ROUNDS_MAX = 8
    told = {
        concurrent.futures.ThreadPoolExecutor: AtOnce,
        forms.parsed: _read_by_either(inside, forms.parsed),
        forms.part_of_batch: _read_by_either(inside, forms.part_of_batch),
        observability.emit: lambda metric, value=1: inside.emitted(metric, value),
        deadline.of_this_process: inside.deadline,
        dependencies.of_this_process: lambda: inside.guards.of(inside.hub.current),
    }
    for kind, original in _ORIGINAL_WIRED.items():
        told[original] = lambda kind=kind: inside.hub.current.wired
    for name, module in list(sys.modules.items()):
        if name.startswith(("functions.", "postdate.")):
            for attribute, value in list(vars(module).items()):
                if callable(value) and value.__hash__ is not None and value in told:
                    setattr(module, attribute, told[value])
    observability.metrics.provider.metric_set["none"] = {}
    logger = observability.logger._logger
    logger.handlers[:] = [_Lines(inside)]
    logger.setLevel(logging.WARNING)
    logging.getLogger("pynamodb").setLevel(logging.CRITICAL)


class _Lines(logging.Handler):
    """Errors of our own code, as lines of what happened."""

    def __init__(self, inside: Inside) -> None:
        super().__init__()
        self._inside = inside

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        told = "" if error is None else f": {type(error).__name__}: {error}"[:300]
        action, why = getattr(record, "action", ""), getattr(record, "why", "")
        self._inside.hub.note(f"log {record.levelname} {action} {record.msg} {why}{told}")
        self._inside.counted(f"log {action}", 1)
        if action == "overdue":
            self._inside.overdue(list(getattr(record, "items", ())))


def _told_apart(inside: Inside, post: Callable[..., Any]) -> Callable[..., Any]:
    """Calls of the ledger, for the checker of what each of them writes."""

    def begun(ledger: DynamoLedger, postings: Any, **how: Any) -> Any:
        if inside.hub.current is not None:
            inside.hub.current.arrived.clear()
        return post(ledger, postings, **how)

    return begun


def _read_by_either(inside: Inside, read: Callable[..., Any]) -> Callable[..., Any]:
    """Newer code knows one field more of each form."""

    def reads(form: type[forms.Form], *given: Any) -> Any:
        actor = inside.hub.current
        return read(form_of_newer_code(form) if actor is not None and actor.is_newer else form, *given)

    return reads


def _now(inside: Inside) -> int:
    actor = inside.hub.current
    return inside.hub.now if actor is None else actor.now


def _sleep(inside: Inside, seconds: float) -> None:
    inside.hub.park(max(1, -int(-seconds * SECOND // 1)))


INSIDE: Final = Inside()
