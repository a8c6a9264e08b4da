"""State machines: work that is long, rare, and goes on after a crash."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable

if TYPE_CHECKING:
    from botocore.client import BaseClient


class Machine(Protocol):
    def start(self, name: str, given: Mapping[str, Any]) -> None:
        """Begins an execution, once for each name however often it is asked for. Raises Unavailable if it cannot be
        told that it began."""

    def is_running(self, name: str) -> bool:
        """Returns False if the execution of this name has ended or never began. The sweep asks before it replaces the
        execution of a stalled operation. Raises Unavailable if the state cannot be read."""


def execution_of(operation_id: str, run: int) -> str:
    """The name of the execution of an operation with this number."""
    return f"{operation_id}-{run}"


def begin(machine: Machine, operation_id: str, run: int) -> None:
    """Begins the execution of an operation with this number. Raises Unavailable as `start` does."""
    machine.start(execution_of(operation_id, run), {"operation_id": operation_id, "run": run})


class StepFunctions:
    """Executions of one state machine in AWS Step Functions."""

    def __init__(self, *, arn: str, client: "BaseClient") -> None:
        self._arn = arn
        self._client = client

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        try:
            self._client.start_execution(stateMachineArn=self._arn, name=name, input=json.dumps(given))
        except self._client.exceptions.ExecutionAlreadyExists:
            return
        except (ClientError, BotoCoreError) as error:
            raise Unavailable(f"{type(error).__name__} on starting {name}") from error

    def is_running(self, name: str) -> bool:
        arn = f"{self._arn.replace(':stateMachine:', ':execution:')}:{name}"
        try:
            found = self._client.describe_execution(executionArn=arn)
        except self._client.exceptions.ExecutionDoesNotExist:
            return False
        except (ClientError, BotoCoreError) as error:
            raise Unavailable(f"{type(error).__name__} on describing {name}") from error
        return bool(found["status"] == "RUNNING")


class MemoryMachine:
    """`started` are the inputs by their names, `ended` the names of executions that are over."""

    def __init__(self) -> None:
        self.started: dict[str, Mapping[str, Any]] = {}
        self.ended: set[str] = set()

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        self.started.setdefault(name, given)

    def is_running(self, name: str) -> bool:
        return name in self.started and name not in self.ended
