"""Executions of the state machine of operations: each is an actor, and the local engine's interpreter walks it.

The function `operate` dies and is called twice like any other. The machine tries again what died or failed.
Some executions are killed, as by a person. The sweep finds their operations.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from postdate.domain.errors import Unavailable
from tests.simulation.hub import SECOND, Actor, Crash, Hub
from tests.simulation.inside import INSIDE
from tests.simulation.mix import Mix
from tests.simulation.seen import Broken, Seen
from tests.simulation.workers import Functions


class Killed(BaseException):
    """The end of an execution that no state of the machine sees."""


class Died(Exception):
    """The machine's name for a function that ended without an answer."""


@dataclass(kw_only=True, slots=True, eq=False)
class Machines:
    """`given` are the inputs of all executions by their names."""

    hub: Hub
    functions: Functions
    seen: Seen
    mix: Callable[[], Mix]
    given: dict[str, str] = field(default_factory=dict)

    def start(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the answer of StartExecution."""
        name, given = asked["name"], asked["input"]
        if name in self.given and name not in self.seen.executions:
            return 400, {"__type": "ExecutionAlreadyExists", "message": "no"}
        if name not in self.given:
            self.given[name] = given
            self.seen.executions[name] = json.loads(given)["operation_id"]
            worker, wired = self.functions.copy("operate")
            actor = Actor(name=worker, hub=self.hub, wired=wired, operation=self.seen.executions[name])
            self.hub.spawn(actor, lambda: self._walk(name, given))
        return 200, {"executionArn": f"{asked['stateMachineArn']}:{name}", "startDate": 0}

    def describe(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the answer of DescribeExecution."""
        name = asked["executionArn"].rpartition(":")[2]
        if name not in self.given:
            return 400, {"__type": "ExecutionDoesNotExist", "message": "no"}
        return 200, {"status": "RUNNING" if name in self.seen.executions else "FAILED"}

    def operate(self, event: dict[str, Any]) -> Any:
        """Calls the function for the execution that is the current actor."""
        actor = self.hub.current
        assert actor is not None
        if self.mix().stalled and self.hub.draws.random() < self.mix().stalled:
            raise Killed
        if self.hub.draws.random() < self.mix().duplicates:
            self._call_twice(actor, event)
        try:
            return self._called(actor, event)
        except Crash:
            self.seen.reach["operate died"] += 1
            raise Died from None

    def _walk(self, name: str, given: str) -> None:
        try:
            status = INSIDE.machine.ran(name, json.loads(given))
            self.seen.reach[f"execution {status}"] += 1
            self.hub.note(f"execution {name} {status}")
        except Killed:
            self.seen.reach["execution killed"] += 1
            self.hub.note(f"execution {name} killed")
        finally:
            del self.seen.executions[name]

    def _call_twice(self, actor: Actor, event: dict[str, Any]) -> None:
        """A worker of its own has the same event; the machine hears nothing of it."""
        worker, wired = self.functions.copy("operate")
        twin = Actor(name=worker, hub=self.hub, wired=wired, operation=actor.operation, skew=actor.skew)
        self.seen.reach["operate called twice"] += 1

        def work() -> None:
            try:
                self._called(twin, event)
            except Unavailable:
                self.hub.note("not available")

        self.hub.spawn(twin, work, delay=int(self.hub.draws.uniform(0, 5) * SECOND))

    def _called(self, actor: Actor, event: dict[str, Any]) -> Any:
        actor.items_asked = len(self.seen.planned_items(actor.operation))
        try:
            return self.functions.invoke(actor, "operate", event)
        except Unavailable:
            raise
        except Exception as error:
            raise Broken(f"I24: the function raises {type(error).__name__}: {error}") from error
