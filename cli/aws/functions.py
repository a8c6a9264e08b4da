"""The deployed functions of an environment: what they read, and whether they are stopped.

A queue's or a stream's consumer is stopped at its event source mapping. Without concurrency it would go on receiving
messages and failing, and SQS would move them to the dead letters after some tries. A function that requests or state
machines invoke is stopped by a reserved concurrency of 0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cli.failure import Failure
from infra.environment import Environment

# A stream keeps its records for 24 hours. The recorder goes on where it was if it is started within that time.
CONSUMERS: Final = ("sweep", "settle", "run_tasks", "record")
# `archive` and `reconcile` run each night; `operate` and `erase` run as long as an execution of their machines does.
INVOKED: Final = ("api", "operate", "erase", "archive", "reconcile")
_READ_BY: Final = ("api", "sweep")
# These write what recovery mends. A delivery that is still under way writes to the table it began with.
_SETTLED: Final = (*INVOKED, "settle", "sweep", "record")


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
        """Requests are answered with an error from now on; messages and changes wait in their queues and streams.

        The mappings come last: their instants tell `check_stopped` since when all is stopped."""
        for name in INVOKED:
            self._reserve(name, 0)
        self._enable(False)

    def start(self) -> None:
        """Starts the functions again, each with the concurrency that the environment gives to it."""
        for name in INVOKED:
            self._reserve(name, self.environment.functions[name].reserved)
        self._enable(True)

    def check_stopped(self, now: datetime) -> None:
        """Raises Failure unless no function runs that writes what recovery mends, or may still run from before."""
        mappings = list(self._mappings())
        running = [mapping["FunctionArn"] for mapping in mappings if mapping["State"] != "Disabled"]
        running += [name for name in INVOKED if self._reserved(name) != 0]
        if running:
            raise Failure(
                f"The functions of {self.environment.name} are not stopped: postdate recover "
                f"--env {self.environment.name} --stop"
            )
        stopped_at = max(mapping["LastModified"] for mapping in mappings)
        lives = max(timedelta(seconds=self._described(name)["Timeout"]) for name in _SETTLED)
        if now < stopped_at + lives:
            left = round((stopped_at + lives - now).total_seconds())
            raise Failure(f"A function that began before the stop may run for another {left} seconds.")

    def _reserve(self, name: str, concurrency: int | None) -> None:
        """None takes the reservation away."""
        named = self._named(name)
        if concurrency is None:
            self.client.delete_function_concurrency(FunctionName=named)
        else:
            self.client.put_function_concurrency(FunctionName=named, ReservedConcurrentExecutions=concurrency)

    def _reserved(self, name: str) -> int | None:
        found = self.client.get_function_concurrency(FunctionName=self._named(name))
        reserved: int | None = found.get("ReservedConcurrentExecutions")
        return reserved

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
