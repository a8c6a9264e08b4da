"""Forecasts for an environment: its own settings in the model, and the effect of each limit halved."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from infra.capacity import limits
from infra.capacity.load import peak, steady
from infra.capacity.model import Fleet, Outcome, Work, run
from infra.environments import Environment

# Write units of the claim and the outcome of a task; of a payment on `accounts` and on `journal` (docs/cost.md).
TASK_UNITS: Final = 2.0
PAYMENT_UNITS: Final = 4.0
# One vCPU of Lambda (AWS, Lambda developer guide, Configure Lambda function memory).
_VCPU_MB: Final = 1_769
# The benchmark drains 2,049 tasks a second with 2 cores, which the engine shares: at most 1 ms of a core a task.
_CPU_SECONDS: Final = 0.001
# Five calls one after the other: visibility, read, claim, delivery, outcome. AWS answers within 10 ms (assumed).
_CALLS_SECONDS: Final = 0.05
_COLD_START_SECONDS: Final = 1.0
# Accounts spread over the whole table: partitions never limit before the table does.
_ACCOUNT_PARTITIONS: Final = 40
# Dollars, us-east-1, November 2026 (docs/cost.md).
_GB_SECOND: Final = 0.0000133334
_REQUEST: Final = 0.20e-6
_SQS_REQUEST: Final = 0.40e-6
_WRITE: Final = 0.625e-6
_READ: Final = 0.125e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """The numbers of one function and its table that the model uses; `halved` of them show which one limits."""

    fleet: Fleet
    work: Work
    table_writes: float
    partition_writes: float
    partitions: int
    memory_mb: int

    @property
    def writes(self) -> float:
        return min(self.table_writes, self.partitions * self.partition_writes)


def setting(environment: Environment, function: str) -> Setting:
    size = environment.functions[function]
    table, units = ("items", TASK_UNITS) if function == "run_tasks" else ("accounts", PAYMENT_UNITS)
    most = min(size.consumers, int(limits.MAPPING_MAX.value))
    work = Work(
        cold_start=_COLD_START_SECONDS,
        a_batch=_CALLS_SECONDS,
        an_item=_CPU_SECONDS / min(1.0, size.memory_mb / _VCPU_MB),
        units=units,
    )
    return Setting(
        fleet=Fleet(
            first=min(limits.MAPPING_STARTS_WITH.value, most), added=limits.MAPPING_ADDS.value / 60, most=most
        ),
        work=work,
        table_writes=environment.warm_writes.get(table, limits.NEW_TABLE_WRITES.value),
        partition_writes=limits.PARTITION_WRITES.value,
        partitions=environment.shards if table == "items" else _ACCOUNT_PARTITIONS,
        memory_mb=size.memory_mb,
    )


def tasks(environment: Environment, *, due: int, tenants: int) -> dict[str, Any]:
    """The minute in which `due` tasks of `tenants` are due at one instant."""
    used = setting(environment, "run_tasks")
    messages = peak(due, tenants=tenants)

    def outcome(of: Setting) -> Outcome:
        return run(messages, fleet=of.fleet, work=of.work, writes=of.writes)

    found = outcome(used)
    price = (
        due * (TASK_UNITS * _WRITE + _READ)
        + len(messages) * 4 * _SQS_REQUEST
        + found.invocations * _REQUEST
        + found.busy_seconds * used.memory_mb / 1024 * _GB_SECOND
    )
    return (
        {"load": "peak of tasks", "environment": environment.name, "due": due, "tenants": tenants}
        | {"packets": len(messages)}
        | _told(found, price)
        | {"if_halved": {name: _seconds(outcome(half)) for name, half in _halves(used).items()}}
        | {"raise": _advice(used, outcome, _seconds(found))}
    )


def payments(environment: Environment, *, rate: float, seconds: float = 60) -> dict[str, Any]:
    """A steady stream of single payments. The mapping has scaled before, since the stream is not new."""
    used = setting(environment, "settle")
    fleet = replace(used.fleet, first=used.fleet.most, warm=used.fleet.most)
    found = run(steady(rate, seconds), fleet=fleet, work=used.work, writes=used.writes)
    return {"load": "steady payments", "environment": environment.name, "a_second": rate} | _told(found, None)


def _told(found: Outcome, price: float | None) -> dict[str, Any]:
    return {
        "lateness_p50_seconds": round(found.percentile(0.5), 3),
        "lateness_p95_seconds": round(found.percentile(0.95), 3),
        "lateness_p99_seconds": _seconds(found),
        "drained_in_seconds": round(found.ended_at, 1),
        "throttled_share": round(found.throttled / found.items, 3),
        "workers_at_once": found.at_once,
        "invocations": found.invocations,
    } | ({} if price is None else {"dollars": round(price, 2)})


def _seconds(found: Outcome) -> float:
    return round(found.percentile(0.99), 3)


def _halves(used: Setting) -> dict[str, Setting]:
    fleet, work = used.fleet, used.work
    return {
        "workers": replace(used, fleet=replace(fleet, most=max(1, fleet.most // 2))),
        "start of the mapping": replace(
            used, fleet=replace(fleet, first=fleet.first / 2, added=fleet.added / 2)
        ),
        "write units of the table": replace(used, table_writes=used.table_writes / 2),
        "shards": replace(used, partitions=max(1, used.partitions // 2)),
        "speed of a worker": replace(
            used, work=replace(work, a_batch=work.a_batch * 2, an_item=work.an_item * 2)
        ),
    }


def _advice(used: Setting, outcome: Callable[[Setting], Outcome], now: float) -> list[str]:
    """The settings that, doubled alone, shorten the lateness by a tenth or more; the most useful first."""
    fleet = used.fleet
    doubled = {
        "functions.run_tasks.consumers, and the quota of concurrent executions": replace(
            used, fleet=replace(fleet, most=fleet.most * 2)
        ),
        "warm_writes of the table items, and its quota": replace(used, table_writes=used.table_writes * 2),
        "settings.shard_plan": replace(used, partitions=used.partitions * 2),
    }
    gains = {name: now - _seconds(outcome(each)) for name, each in doubled.items()}
    return [name for name in sorted(gains, key=lambda name: -gains[name]) if gains[name] > now / 10]
