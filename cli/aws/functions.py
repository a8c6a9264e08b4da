"""The deployed functions of an environment: what they read, and whether they are stopped.

A queue's consumer is stopped at its event source mapping. Without concurrency it would go on receiving messages and
failing, and SQS would move them to the dead letters after some tries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cli.failure import Failure
from infra.environment import Environment

CONSUMERS: Final = ("sweep", "settle", "run_tasks")
_READ_BY: Final = ("api", "sweep")
# These write money. A delivery that is still under way writes to the table it began with.
_SETTLED: Final = ("api", "settle", "sweep")


@dataclass(frozen=True, kw_only=True, slots=True)
class Functions:
    environment: Environment
    client: Any

    def settings(self) -> dict[str, str]:
        """The settings of `api` and `sweep`, by the names of their variables."""
        found: dict[str, str] = {}
        for name in _READ_BY:
            found |= self._described(name)["Environment"]["Variables"]
        return found

    def stop(self) -> None:
        """Requests are answered with an error from now on; messages wait in their queues."""
        self.client.put_function_concurrency(FunctionName=self._named("api"), ReservedConcurrentExecutions=0)
        self._enable(False)

    def start(self) -> None:
        """Starts the functions again, with the concurrency that the environment gives to `api`."""
        reserved = self.environment.functions["api"].reserved
        if reserved is None:
            self.client.delete_function_concurrency(FunctionName=self._named("api"))
        else:
            self.client.put_function_concurrency(
                FunctionName=self._named("api"), ReservedConcurrentExecutions=reserved
            )
        self._enable(True)

    def check_stopped(self, now: datetime) -> None:
        """Raises Failure unless nothing that moves money runs, or may still run from before."""
        running = [mapping["FunctionArn"] for mapping in self._mappings() if mapping["State"] != "Disabled"]
        concurrency = self.client.get_function_concurrency(FunctionName=self._named("api"))
        if running or concurrency.get("ReservedConcurrentExecutions") != 0:
            raise Failure(
                f"The functions of {self.environment.name} are not stopped: postdate recover "
                f"--env {self.environment.name} --stop"
            )
        stopped_at = max(mapping["LastModified"] for mapping in self._mappings())
        lives = max(timedelta(seconds=self._described(name)["Timeout"]) for name in _SETTLED)
        if now < stopped_at + lives:
            left = round((stopped_at + lives - now).total_seconds())
            raise Failure(f"A function that began before the stop may run for another {left} seconds.")

    def _enable(self, enabled: bool) -> None:
        for mapping in self._mappings():
            self.client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)

    def _mappings(self) -> Iterator[Mapping[str, Any]]:
        for name in CONSUMERS:
            pages = self.client.get_paginator("list_event_source_mappings")
            for page in pages.paginate(FunctionName=self._named(name)):
                yield from page["EventSourceMappings"]

    def _described(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.client.get_function_configuration(FunctionName=self._named(name))
        return found

    def _named(self, name: str) -> str:
        return self.environment.named(name)
