"""The alarms over what the simulation emits. `python -m tests.simulation.alarms` runs each scenario and prints, as
JSON, which alarms fired and how many seconds after the fault began.

What the functions emit is taken as it is. What AWS counts for them is counted here: invocations and errors, answers of
the gateway, messages and their ages.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from infra.environments import PROD
from infra.watch.alarm import API_ID
from infra.watch.evaluate import Samples, State, Watch
from infra.watch.table import alarms, composites
from infra.watch.throttles import WATCHED
from postdate.runtime.metric import Metric
from tests.simulation import checkers
from tests.simulation.hub import SECOND, Actor
from tests.simulation.inside import INSIDE
from tests.simulation.mix import MINUTE, Fault, Mix
from tests.simulation.run import Run
from tests.simulation.scenarios import HEALTHY, SCENARIOS, SETS_IN_AFTER, Scenario
from tests.simulation.wire import Call, Told, Wire
from tests.simulation.workers import Functions

_QUEUES: Final = ("tasks", "payments", "ticks", "slow")
_LETTERS: Final = ("tasks-dlq", "payments-dlq", "ticks-dlq")
_READS: Final = frozenset({"GetItem", "BatchGetItem", "Query"})
_LASTS: Final = 20 * MINUTE
# Before this much has passed, an alarm on missing data would fire over what was before the run.
_HISTORY: Final = 6 * 60
_SEED: Final = 7


class Meter:
    """Samples of one run, as CloudWatch would have them."""

    def __init__(self, run: Run) -> None:
        self.samples = Samples()
        self._run = run
        self._busy: dict[int, str] = {}

    @contextmanager
    def metering(self) -> Iterator[None]:
        invoke, meter = Functions.invoke, self

        def invoked(functions: Functions, actor: Actor, kind: str, *given: Any, **more: Any) -> Any:
            meter._busy[id(actor)] = kind
            error = True
            try:
                answer = invoke(functions, actor, kind, *given, **more)
                error = False
            finally:
                meter._count(kind, error)
            if kind == "api":
                meter._answered(answer["statusCode"])
            return answer

        met = Wire._met

        def counted(wire: Wire, actor: Actor, call: Call, fault: Fault | None) -> Told:
            if fault is Fault.THROTTLED and call.service == "dynamodb":
                meter._throttled(call)
            return met(wire, actor, call, fault)

        Wire._met = counted  # type: ignore[method-assign]
        Functions.invoke = invoked  # type: ignore[method-assign]
        INSIDE.measured = self._emitted
        self._run.hub.after(MINUTE // 2, self._look_at_queues)
        try:
            yield
        finally:
            Functions.invoke, Wire._met = invoke, met  # type: ignore[method-assign]
            INSIDE.measured = lambda metric, value: None

    def _add(self, namespace: str, name: str, dimension: str, of: str, value: float) -> None:
        self.samples.add(namespace, name, ((dimension, of),), at=self._run.hub.now / SECOND, value=value)

    def _emitted(self, metric: Metric, value: float) -> None:
        actor = self._run.hub.current
        if actor is not None and (kind := self._busy.get(id(actor))):
            self._add("Postdate", metric.name, "service", PROD.named(kind), value)

    def _count(self, kind: str, error: bool) -> None:
        self._add("AWS/Lambda", "Invocations", "FunctionName", PROD.named(kind), 1)
        self._add("AWS/Lambda", "Errors", "FunctionName", PROD.named(kind), float(error))

    def _throttled(self, call: Call) -> None:
        """An event for each table that the call names."""
        kind = "ReadThrottleEvents" if call.operation in _READS else "WriteThrottleEvents"
        named = json.dumps(call.asked)
        for table in WATCHED:
            if f"sim-{table}" in named:
                self._add("AWS/DynamoDB", kind, "TableName", PROD.table(table), 1)

    def _answered(self, status: int) -> None:
        self._add("AWS/ApiGateway", "Count", "ApiId", API_ID, 1)
        self._add("AWS/ApiGateway", "5xx", "ApiId", API_ID, float(status >= 500))

    def _look_at_queues(self) -> None:
        engine, now = self._run.wire.engine, self._run.hub.now / SECOND
        for queue in (*_QUEUES, *_LETTERS):
            messages = engine.messages(queue)
            visible = [each for each in messages if each["visible_at"] <= now]
            ages = [now - each["sent_at"] for each in messages if "sent_at" in each]
            self._add(
                "AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", PROD.named(queue), len(visible)
            )
            self._add(
                "AWS/SQS",
                "ApproximateAgeOfOldestMessage",
                "QueueName",
                PROD.named(queue),
                max(ages, default=0),
            )
        self._run.hub.after(MINUTE, self._look_at_queues)


@contextmanager
def _unchecked() -> Iterator[None]:
    kept = checkers.STEP, checkers.AT_THE_END
    checkers.STEP = checkers.AT_THE_END = ()
    try:
        yield
    finally:
        checkers.STEP, checkers.AT_THE_END = kept


def observed(scenario: Scenario) -> dict[str, float]:
    """The alarms that fired, and how many seconds after the fault set in."""
    run = Run(seed=_SEED, mix=HEALTHY, script=scenario.script)
    meter = Meter(run)

    def sets_in(mix: Mix) -> None:
        run.mix = run.wire.mix = mix
        run.functions._left_to_lose = mix.lost

    run.hub.after(SETS_IN_AFTER, lambda: sets_in(scenario.mix))
    run.hub.after(SETS_IN_AFTER + _LASTS, lambda: sets_in(HEALTHY))
    with meter.metering(), nullcontext() if scenario.checked else _unchecked():
        result = run.result()
    if result.broken and scenario.checked:
        raise SystemExit(f"{scenario.name}: {result.broken}")
    watch = Watch(alarms(PROD), composites(PROD))
    watch.states = dict.fromkeys(watch.states, State.OK)
    began, ended = run.hub.began // SECOND, run.hub.now // SECOND
    for at in range(began + _HISTORY, ended + 60, 60):
        watch.look(meter.samples, at=at - at % 60)
    since = began + SETS_IN_AFTER // SECOND
    return {name: at - since for name, at in watch.fired.items()}


def main() -> int:
    only = sys.argv[1:]
    found = {
        each.name: observed(each) for each in SCENARIOS if not only or any(text in each.name for text in only)
    }
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
