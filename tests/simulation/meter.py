"""The counts of AWS over one run of the simulation: invocations and errors, refusals of Lambda, answers of the gateway,
messages and their ages, conflicts and throttled requests, the age of a stream.

What the functions emit is taken as it is. Faults that AWS itself has with functions and queues happen here as well.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final

import ministack.services.sqs as sqs

from functions.api import handler as api
from functions.authorize import handler as authorize
from infra.environment import Environment
from infra.watch.alarm import API_ID
from infra.watch.samples import Samples
from infra.watch.throttles import WATCHED
from postdate.runtime.metric import Metric
from tests.simulation.answers import Told
from tests.simulation.call import Call
from tests.simulation.hub import SECOND, Actor, Crash
from tests.simulation.inside import INSIDE, SETTINGS
from tests.simulation.mix import MINUTE, Fault
from tests.simulation.run import Run
from tests.simulation.scenarios import OfAws
from tests.simulation.streams import Streams
from tests.simulation.wire import Wire
from tests.simulation.workers import Context, Functions

_QUEUES: Final = ("tasks", "payments", "ticks", "slow")
_LETTERS: Final = ("tasks-dlq", "payments-dlq", "ticks-dlq", "events-dlq")
_READS: Final = frozenset({"GetItem", "BatchGetItem", "Query"})
_TRANSACTIONS: Final = frozenset({"TransactWriteItems", "ExecuteTransaction"})
_UNAVAILABLE: Final = 503
_AUTHORIZES_FOR: Final = 10 * SECOND
_KILLED: Final = 0.3
_KILLED_AFTER: Final = 2 * SECOND


# The engine of the simulation has no queue for the letters of the recorder.
SETTINGS["EVENTS_DLQ_URL"] = sqs._act_create_queue({"QueueName": "sim-events-dlq", "Attributes": {}}, "")[
    "QueueUrl"
]
authorize.emit = lambda metric, value=1: INSIDE.emitted(metric, value)  # type: ignore[attr-defined]


class Meter:
    """Samples of one run, as CloudWatch would have them. `faults` are those of AWS that hold at the moment."""

    def __init__(self, run: Run, environment: Environment) -> None:
        self.samples = Samples()
        self.faults = OfAws()
        self._environment = environment
        self._run = run
        self._busy: dict[int, str] = {}
        self._running: Counter[int] = Counter()
        self._recorded_by: list[tuple[int, list[int]]] = []

    @contextmanager
    def metering(self) -> Iterator[None]:
        invoke, met, visible = Functions.invoke, Wire._met, Functions.next_visible
        meter = self

        def invoked(functions: Functions, actor: Actor, kind: str, event: Any, *given: Any) -> Any:
            if kind == "api":
                event = meter._authorized(actor, event)
            meter._lambda(kind, answered=kind == "api")
            meter._busy[id(actor)] = kind
            meter._begun(actor, kind)
            error = True
            try:
                answer = invoke(functions, actor, kind, event, *given)
                error = False
            finally:
                meter._running.pop(id(actor), None)
                meter._count(kind, error)
                if error and kind == "api":
                    meter._answered(_UNAVAILABLE)
            if kind == "api":
                meter._answered(answer["statusCode"])
            return answer

        def counted(wire: Wire, actor: Actor, call: Call, fault: Fault | None) -> Told:
            if fault is Fault.THROTTLED and call.service == "dynamodb":
                meter._throttled(call)
            if fault is Fault.CONFLICT and call.moves_money:
                meter._add("AWS/DynamoDB", "TransactionConflict", "TableName", meter._table("accounts"), 1)
            return met(wire, actor, call, fault)

        def found(functions: Functions) -> int | None:
            """A queue whose mapping is disabled wakes nobody."""
            hidden = {queue: functions._pollers.pop(queue, []) for queue in meter.faults.stopped}
            try:
                return visible(functions)
            finally:
                functions._pollers |= hidden

        Wire._met = counted  # type: ignore[method-assign]
        Functions.invoke = invoked  # type: ignore[method-assign,assignment]
        Functions.next_visible = found  # type: ignore[method-assign]
        self._run.hub.when_idle[:] = [self._run.functions.next_visible]
        kept, api.time = api.time, SimpleNamespace(monotonic=lambda: self._run.hub.now / SECOND)  # type: ignore[attr-defined]
        INSIDE.measured = self._emitted
        self._run.hub.after(MINUTE // 2, self._look)
        try:
            yield
        finally:
            Functions.invoke, Wire._met = invoke, met  # type: ignore[method-assign]
            Functions.next_visible = visible  # type: ignore[method-assign]
            api.time = kept  # type: ignore[attr-defined]
            INSIDE.measured = lambda metric, value: None

    def _add(self, namespace: str, name: str, dimension: str, of: str, value: float) -> None:
        dimensions = ((dimension, of),) if dimension else ()
        self.samples.add(namespace, name, dimensions, at=self._run.hub.now / SECOND, value=value)

    def _named(self, kind: str) -> str:
        return self._environment.named(kind)

    def _table(self, name: str) -> str:
        return self._environment.table(name)

    def _emitted(self, metric: Metric, value: float) -> None:
        actor = self._run.hub.current
        if actor is not None and (kind := self._busy.get(id(actor))):
            self._add("Postdate", metric.name, "service", self._named(kind), value)

    def _authorized(self, actor: Actor, event: Mapping[str, Any]) -> dict[str, Any]:
        """The gateway asks for the key of each request, as if it were the first with this key."""
        hub = self._run.hub
        self._lambda("authorize", answered=True)
        self._busy[id(actor)] = "authorize"
        actor.spent.clear()
        context = Context(hub=hub, until=hub.now + _AUTHORIZES_FOR, aws_request_id="authorize")
        error = True
        try:
            found = authorize.handler(event, context)  # type: ignore[arg-type]
            error = False
        finally:
            self._count("authorize", error)
        about = {**event["requestContext"], "authorizer": {"lambda": found["context"]}}
        return {**event, "requestContext": about}

    def _lambda(self, kind: str, *, answered: bool) -> None:
        """Raises Crash if Lambda refuses the function, or the function cannot start."""
        if kind in self.faults.refused:
            self._add("AWS/Lambda", "Throttles", "FunctionName", self._named(kind), 1)
        elif kind in self.faults.fails:
            self._count(kind, True)
        else:
            return
        if answered:
            self._answered(_UNAVAILABLE)
        raise Crash

    def _begun(self, actor: Actor, kind: str) -> None:
        hub = self._run.hub
        if kind in self.faults.killed and hub.draws.random() < _KILLED:
            calls = actor.parks

            def kill() -> None:
                if id(actor) in self._running and actor.parks > calls:
                    hub.kill(actor)

            hub.after(_KILLED_AFTER, kill)
        self._running[id(actor)] = 1
        self._add("AWS/Lambda", "ConcurrentExecutions", "", "", len(self._running))

    def _count(self, kind: str, error: bool) -> None:
        self._add("AWS/Lambda", "Invocations", "FunctionName", self._named(kind), 1)
        self._add("AWS/Lambda", "Errors", "FunctionName", self._named(kind), float(error))

    def _throttled(self, call: Call) -> None:
        """An event for each table that the call names."""
        kind = "ReadThrottleEvents" if call.operation in _READS else "WriteThrottleEvents"
        named = json.dumps(call.asked)
        for table in WATCHED:
            if f"sim-{table}" in named:
                self._add("AWS/DynamoDB", kind, "TableName", self._table(table), 1)

    def _answered(self, status: int) -> None:
        self._add("AWS/ApiGateway", "Count", "ApiId", API_ID, 1)
        self._add("AWS/ApiGateway", "5xx", "ApiId", API_ID, float(status >= 500))

    def _look(self) -> None:
        engine, now = self._run.wire.engine, self._run.hub.now / SECOND
        for queue in (*_QUEUES, *_LETTERS):
            messages = (
                sqs._queues[SETTINGS["EVENTS_DLQ_URL"]]["messages"]
                if queue == "events-dlq"
                else engine.messages(queue)
            )
            visible = [each for each in messages if each["visible_at"] <= now]
            ages = [now - each["sent_at"] for each in messages if "sent_at" in each]
            named = self._named(queue)
            self._add("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", named, len(visible))
            self._add("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", named, max(ages, default=0))
        if self._run.streams is not None:
            self._look_at(self._run.streams)
        if self._running:
            self._add("AWS/Lambda", "ConcurrentExecutions", "", "", len(self._running))
        self._run.hub.after(MINUTE, self._look)

    def _look_at(self, streams: Streams) -> None:
        """Notes the age of the first record that has not been recorded, to the minute."""
        self._recorded_by.append((self._run.hub.now, [len(shard.records) for shard in streams.shards]))
        for place, shard in enumerate(streams.shards):
            since = next((at for at, counts in self._recorded_by if counts[place] > shard.at), None)
            age = 0 if since is None else (self._run.hub.now - since) // 1000
            self._add("AWS/Lambda", "IteratorAge", "FunctionName", self._named("record"), age)
