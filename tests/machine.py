"""The local engine's interpreter of state machines, on a clock that is given, with functions of this process."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

from ministack.services import stepfunctions as engine

from infra.definitions import definition, filled
from postdate.runtime.clock import Clock

Call: TypeAlias = Callable[[dict[str, Any]], Any]
Edge: TypeAlias = tuple[str, str]
RETRY: Final = "(again)"
_ARN: Final = "arn:aws:lambda:us-east-1:000000000000:function:"


_INVOKE: Final = engine._invoke_resource
_RUN_INSIDE: Final = engine._run_sub_machine
_RETRIER: Final = engine._find_matching_retrier


class _InTurn:
    """In the place of a pool of threads: items of a Map run one after the other, in the order of the list."""

    def __init__(self, max_workers: int) -> None:
        self.max_workers = max_workers

    def __enter__(self) -> "_InTurn":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, call: Callable[..., Any], *given: Any) -> None:
        call(*given)


class _Followed(dict[str, Any]):
    """States of an item of a Map; tells which are entered, and from where."""

    def __init__(self, states: Mapping[str, Any], machine: "Interpreted") -> None:
        super().__init__(states)
        self._machine = machine
        self._at = ""

    def get(self, name: str, default: Any = None) -> Any:
        if self._at:
            self._machine.walked.add((self._at, name))
        self._at = name
        if "Retry" in self[name]:
            self._machine.retried[id(self[name]["Retry"])] = name
        return self[name]


def _states(states: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The states of a machine, those inside its Maps included."""
    for name, state in states.items():
        yield name, state
        yield from _states(state.get("ItemProcessor", {}).get("States", {}))


@dataclass(kw_only=True, slots=True)
class Interpreted:
    """One machine. Its executions run when `run` is called, one after the other. `walked` are the edges they took.
    `values` stand in its definition, and `services` are the calls that it makes to AWS itself, by their resources."""

    name: str
    calls: Mapping[str, Call]
    clock: Clock
    values: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, Call] = field(default_factory=dict)
    started_at: str = "2026-11-18T10:05:00Z"
    waiting: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    walked: set[Edge] = field(default_factory=set)
    # The states inside a Map, by their retriers.
    retried: dict[int, str] = field(default_factory=dict)

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        if name not in self.status:
            self.waiting[name] = given
            self.status[name] = "RUNNING"

    def lives(self, name: str) -> bool:
        return self.status.get(name) == "RUNNING"

    def run(self) -> None:
        while self.waiting:
            name, given = next(iter(self.waiting.items()))
            del self.waiting[name]
            with self.engine():
                self.status[name] = self.ran(name, given)

    @property
    def edges(self) -> set[Edge]:
        """All there are."""
        found: set[Edge] = set()
        for name, state in _states(json.loads(self._text)["States"]):
            ways = [state, *state.get("Choices", ()), *state.get("Catch", ())]
            found |= {(name, way["Next"]) for way in ways if "Next" in way}
            found |= {(name, state["Default"])} if "Default" in state else set()
            found |= {(name, RETRY)} if "Retry" in state else set()
        return found

    @property
    def _text(self) -> str:
        arns = {called: f"{_ARN}{called}" for called in self.calls}
        return filled(definition(self.name), {**arns, **self.values})

    @property
    def _arn(self) -> str:
        return f"arn:aws:states:us-east-1:000000000000:stateMachine:{self.name}"

    def ran(self, name: str, given: Mapping[str, Any]) -> str:
        """Walks one execution to its end, within `engine`; several may be walked at once, by greenlets."""
        execution: dict[str, Any] = {
            "executionArn": f"{self._arn}:{name}",
            "stateMachineArn": self._arn,
            "name": name,
            "status": "RUNNING",
            "startDate": self.started_at,
            "input": json.dumps(given),
            "events": [],
        }
        engine._executions[execution["executionArn"]] = execution
        try:
            engine._run_execution(execution["executionArn"])
        finally:
            del engine._executions[execution["executionArn"]]
            self._note(execution["events"])
        return str(execution["status"])

    def _note(self, events: list[dict[str, Any]]) -> None:
        at = ""
        failed = False
        for event in events:
            if event["type"].endswith("StateEntered"):
                entered = event["stateEnteredEventDetails"]["name"]
                self.walked |= {(at, entered)} if at else set()
                at, failed = entered, False
            elif event["type"] == "TaskScheduled" and failed and (at, RETRY) in self.edges:
                # A state inside a Map makes such events too, and is followed by itself.
                self.walked.add((at, RETRY))
            failed = event["type"] == "TaskFailed"

    @contextmanager
    def engine(self) -> Iterator[None]:
        """A `BaseException` of a function ends the execution as its own death would."""
        replaced = {
            "time": SimpleNamespace(sleep=self._sleep),
            "_call_lambda": self._called,
            "_invoke_resource": self._invoked,
            "_invoke_resource_with_timeout": lambda resource, given, _: engine._invoke_resource(
                resource, given
            ),
            "_emit_execution_status_event": lambda execution: None,
            "_resolve_lambda_function_ref": lambda resource, optimized: resource,
            "ThreadPoolExecutor": _InTurn,
            "futures_wait": lambda futures: None,
            "_run_sub_machine": self._run_inside,
            "_find_matching_retrier": self._retrier,
        }
        before = {name: getattr(engine, name) for name in replaced}
        for name, value in replaced.items():
            setattr(engine, name, value)
        engine._state_machines[self._arn] = {"name": self.name, "definition": self._text, "roleArn": "role"}
        try:
            yield
        finally:
            del engine._state_machines[self._arn]
            for name, value in before.items():
                setattr(engine, name, value)

    def _run_inside(
        self, states: Mapping[str, Any], start: str, given: Any, execution: Any, context: Any
    ) -> Any:
        """One item of a Map: the engine makes no events of its states."""
        return _RUN_INSIDE(_Followed(states, self), start, given, execution, context)

    def _retrier(self, retriers: Any, error: str, counts: Any) -> Any:
        found = _RETRIER(retriers, error, counts)
        if found[0] is not None and id(retriers) in self.retried:
            self.walked.add((self.retried[id(retriers)], RETRY))
        return found

    def _sleep(self, seconds: float) -> None:
        self.clock.sleep_until(self.clock.now() + timedelta(seconds=seconds))

    def _invoked(self, resource: str, given: dict[str, Any]) -> Any:
        if resource in self.services:
            return self._answered(self.services[resource], given)
        return _INVOKE(resource, given)

    def _called(self, resource: str, given: dict[str, Any]) -> Any:
        return self._answered(self.calls[resource.removeprefix(_ARN)], given)

    def _answered(self, call: Call, given: dict[str, Any]) -> Any:
        try:
            answer = call(json.loads(json.dumps(given)))
        except Exception as error:
            raise engine._ExecutionError(type(error).__name__, str(error)) from error
        return json.loads(json.dumps(answer))
