"""Stopping, starting and checking the functions of an environment, on a Lambda in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from cli.aws.functions import CONSUMERS, INVOKED, Functions
from cli.failure import Failure
from infra.environment import Environment, Size
from infra.environments import PROD
from tests.infra.permissions import GRANTED, GRANTED_BY_ATTRIBUTES, GRANTED_BY_KEYS, GRANTED_IN_TRANSACTIONS

NOW: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
WRITES: Final = {
    f"dynamodb:{action}"
    for action in (
        *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
        *("PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"),
    )
}
# It notes when a key was last used, and no request reaches a function behind it while `api` is stopped.
GOES_ON: Final = {"authorize"}
# `operate` has a concurrency of its own here, which no environment gives it today.
ENVIRONMENT: Final = replace(
    PROD, functions={**PROD.functions, "operate": Size(memory_mb=512, timeout_seconds=60, reserved=7)}
)


@dataclass(kw_only=True, slots=True, eq=False)
class Lambda:
    """Functions with one mapping each, as far as they have one. `calls` are the changes, in their order."""

    environment: Environment = ENVIRONMENT
    now: datetime = NOW
    calls: list[str] = field(default_factory=list)
    reserved: dict[str, int] = field(default_factory=dict)
    mappings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, size in self.environment.functions.items():
            if size.reserved is not None:
                self.reserved[self.environment.named(name)] = size.reserved
            if size.consumers or size.streams:
                self.mappings[self.environment.named(name)] = {
                    "UUID": self.environment.named(name),
                    "FunctionArn": f"arn:aws:lambda:::function:{self.environment.named(name)}",
                    "State": "Enabled",
                    "LastModified": NOW - timedelta(days=1),
                }

    def put_function_concurrency(self, *, FunctionName: str, ReservedConcurrentExecutions: int) -> None:  # noqa: N803
        self.calls.append(f"reserve {FunctionName}")
        self.reserved[FunctionName] = ReservedConcurrentExecutions

    def delete_function_concurrency(self, *, FunctionName: str) -> None:  # noqa: N803
        self.calls.append(f"free {FunctionName}")
        self.reserved.pop(FunctionName, None)

    def get_function_concurrency(self, *, FunctionName: str) -> dict[str, int]:  # noqa: N803
        found = self.reserved.get(FunctionName)
        return {} if found is None else {"ReservedConcurrentExecutions": found}

    def get_function_configuration(self, *, FunctionName: str) -> dict[str, Any]:  # noqa: N803
        sizes = {self.environment.named(name): size for name, size in self.environment.functions.items()}
        return {"Timeout": sizes[FunctionName].timeout_seconds}

    def update_event_source_mapping(self, *, UUID: str, Enabled: bool) -> None:  # noqa: N803
        self.calls.append(f"{'enable' if Enabled else 'disable'} {UUID}")
        self.mappings[UUID] |= {"State": "Enabled" if Enabled else "Disabled", "LastModified": self.now}

    def get_paginator(self, operation: str) -> "Lambda":
        assert operation == "list_event_source_mappings"
        return self

    def paginate(self, *, FunctionName: str) -> Iterator[dict[str, Any]]:  # noqa: N803
        found = self.mappings.get(FunctionName)
        yield {"EventSourceMappings": [] if found is None else [found]}


def writers(*tables: str) -> set[str]:
    """The functions that have the right to write to one of the tables, under a condition or without one."""
    found = set()
    for conditioned in (GRANTED_BY_ATTRIBUTES, GRANTED_BY_KEYS):
        for function, grants in conditioned.items():
            if any(WRITES & grants.get(f"table:{table}", (set(),))[0] for table in tables):
                found.add(function)
    for granted in (GRANTED, GRANTED_IN_TRANSACTIONS):
        for function, by_resource in granted.items():
            if any(WRITES & by_resource.get(f"table:{table}", set()) for table in tables):
                found.add(function)
    return {name.replace("-", "_") for name in found if name.replace("-", "_") in PROD.functions}


@pytest.fixture
def client() -> Lambda:
    return Lambda()


@pytest.fixture
def functions(client: Lambda) -> Functions:
    return Functions(environment=client.environment, client=client)


@pytest.fixture
def stopped(functions: Functions) -> Functions:
    functions.stop()
    return functions


def test_each_function_that_writes_to_a_table_is_stopped() -> None:
    tables = {name.removeprefix("table:") for each in GRANTED.values() for name in each if "table:" in name}
    found = writers(*(name for name in tables if "/" not in name))
    assert found - GOES_ON == {*CONSUMERS, *INVOKED}
    assert writers("items", "payments", "accounts", "journal") <= {*CONSUMERS, *INVOKED}


def test_a_stop_leaves_no_function_that_could_begin(stopped: Functions, client: Lambda) -> None:
    assert {name for name, count in client.reserved.items() if count == 0} == {
        PROD.named(name) for name in INVOKED
    }
    assert {each["State"] for each in client.mappings.values()} == {"Disabled"}


def test_mappings_are_stopped_last_because_their_instants_count(stopped: Functions, client: Lambda) -> None:
    kinds = [call.partition(" ")[0] for call in client.calls]
    assert kinds == ["reserve"] * len(INVOKED) + ["disable"] * len(CONSUMERS)


def test_a_start_gives_each_function_the_concurrency_of_its_environment(
    stopped: Functions, client: Lambda
) -> None:
    stopped.start()
    fresh = Lambda()
    assert client.reserved == fresh.reserved
    assert {each["State"] for each in client.mappings.values()} == {"Enabled"}
    assert client.reserved[PROD.named("operate")] == 7
    assert PROD.named("erase") not in client.reserved


def test_a_recovery_may_begin_when_every_function_has_ended(stopped: Functions) -> None:
    with pytest.raises(Failure, match="may run for another 300 seconds"):
        stopped.check_stopped(NOW)
    stopped.check_stopped(NOW + timedelta(seconds=300))


def _frees(name: str) -> Callable[[Lambda], None]:
    return lambda client: client.delete_function_concurrency(FunctionName=PROD.named(name))


def _enables(name: str) -> Callable[[Lambda], None]:
    return lambda client: client.update_event_source_mapping(UUID=PROD.named(name), Enabled=True)


@pytest.mark.parametrize(
    "restarts",
    [*map(_frees, INVOKED), *map(_enables, CONSUMERS)],
    ids=[*INVOKED, *CONSUMERS],
)
def test_a_recovery_is_refused_while_one_function_may_begin(
    restarts: Callable[[Lambda], None], stopped: Functions, client: Lambda
) -> None:
    restarts(client)
    with pytest.raises(Failure, match="are not stopped"):
        stopped.check_stopped(NOW + timedelta(hours=1))


@pytest.mark.parametrize("name", [*INVOKED, "settle", "sweep", "record"])
def test_the_wait_is_that_of_the_function_that_runs_longest(name: str) -> None:
    slow = {**ENVIRONMENT.functions, name: replace(ENVIRONMENT.functions[name], timeout_seconds=800)}
    client = Lambda(environment=replace(ENVIRONMENT, functions=slow))
    functions = Functions(environment=client.environment, client=client)
    functions.stop()
    with pytest.raises(Failure, match="may run for another 800 seconds"):
        functions.check_stopped(NOW)
