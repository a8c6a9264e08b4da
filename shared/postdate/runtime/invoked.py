"""Functions that a function calls and waits for. Rare: a chain of calls pays for the waits of each."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable

if TYPE_CHECKING:
    from botocore.client import BaseClient


class Invoked(Protocol):
    def call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The function's answer. Raises Unavailable, also for an error of the function."""


class LambdaFunction:
    def __init__(self, *, name: str, client: "Callable[[], BaseClient]") -> None:
        """`client` makes one that waits for as long as the function works. It is asked at the first call: rare calls
        make no start of a process longer."""
        self._name = name
        self._client: Callable[[], Any] = client

    def call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = self._client().invoke(FunctionName=self._name, Payload=json.dumps(given).encode())
            told = answer["Payload"].read()
        except (ClientError, BotoCoreError) as error:
            raise Unavailable(f"{type(error).__name__} on calling {self._name}") from error
        if "FunctionError" in answer:
            raise Unavailable(f"{self._name} failed: {answer['FunctionError']}")
        found: dict[str, Any] = json.loads(told)
        return found
