"""The numbers of one function, its mapping and its table, from the settings that CDK deploys and from AWS's limits."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from infra.capacity import calibration
from infra.capacity.parts import Fleet, Store, Work
from infra.environment import Environment, Size

# Accounts are many, so their keys are spread over all partitions.
_ACCOUNT_KEYS: Final = 4_096
TABLES: Final = {"run_tasks": "items", "settle": "accounts"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    fleet: Fleet
    work: Work
    store: Store
    keys: int
    memory_mb: int


def setting(environment: Environment, function: str, values: Mapping[str, float]) -> Setting:
    """`values` are the limits of AWS by their names."""
    size, table = environment.functions[function], TABLES[function]
    writes = min(
        environment.warm_writes.get(table, values["new_table_writes"]),
        _table_quota(environment, table, values),
    )
    return Setting(
        fleet=_fleet(environment, size, values),
        work=_work(function, size),
        store=Store(
            writes=writes,
            partition=values["partition_writes"],
            partitions=max(1, ceil(writes / calibration.PARTITION_OF_TABLE.value)),
        ),
        keys=environment.shards if table == "items" else _ACCOUNT_KEYS,
        memory_mb=size.memory_mb,
    )


def _table_quota(environment: Environment, table: str, values: Mapping[str, float]) -> float:
    """The quota of an account whose deployment passed: the deployment asks for the warm throughput of its tables."""
    raised = environment.warm_writes.get(table, 0) / calibration.TABLE_QUOTA.value
    return values["table_writes_max"] * max(1.0, raised)


def _fleet(environment: Environment, size: Size, values: Mapping[str, float]) -> Fleet:
    account = min(environment.concurrency_quota, values["account_concurrency"])
    concurrency = min(size.reserved or account, values["account_concurrency"])
    most = max(1, int(min(size.consumers, concurrency)))
    batch = size.batch if size.window_seconds else int(min(size.batch, values["batch_max"]))
    shared: dict[str, Any] = {
        "batch": max(1, batch),
        "window": float(size.window_seconds),
        "invocations": values["invocations"] * concurrency,
        "starts_at_once": values["starts_at_once"],
        "starts_added": values["starts_added"],
        "in_flight": values["in_flight"],
    }
    if size.pollers:
        ready = min(size.pollers, values["pollers_ready"])
        return Fleet(
            first=min(ready * values["poller_invokes"], most),
            added=values["pollers_add"] / 60,
            most=most,
            receives=values["poller_receives"] / values["poller_invokes"],
            **shared,
        )
    most = int(min(most, values["mapping_max"]))
    return Fleet(
        first=min(values["mapping_starts_with"], most), added=values["mapping_adds"] / 60, most=most, **shared
    )


def _work(function: str, size: Size) -> Work:
    core, units = {
        "run_tasks": (calibration.TASK_CORE, calibration.TASK_UNITS),
        "settle": (calibration.PAYMENT_CORE, calibration.ACCOUNT_UNITS),
    }[function]
    return Work(
        cold_start=calibration.COLD_START.value,
        a_batch=calibration.CALLS_OF_BATCH.value * calibration.CALL.value,
        a_commit=calibration.CALLS_OF_COMMIT.value * calibration.CALL.value,
        an_item=core.value / min(1.0, size.memory_mb / calibration.LAMBDA_VCPU_MB.value),
        units=units.value,
        patience=calibration.PATIENCE.value,
    )
