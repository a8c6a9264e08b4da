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


def begin(machine: Machine, operation_id: str, run: int) -> None:
    """Begins the execution of an operation with this number. Raises Unavailable as `start` does."""
    machine.start(f"{operation_id}-{run}", {"operation_id": operation_id, "run": run})


class StepFunctions:
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


class MemoryMachine:
    """`started` are the inputs by their names."""

    def __init__(self) -> None:
        self.started: dict[str, Mapping[str, Any]] = {}

    def start(self, name: str, given: Mapping[str, Any]) -> None:
        self.started.setdefault(name, given)
