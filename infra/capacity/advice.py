"""The settings and quotas to raise before a peak, and the forecast with all of them raised."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from infra.capacity import calibration, forecast, limits
from infra.capacity.load import placed
from infra.environment import Environment

# The most that an id has room for.
_SHARDS_MAX: Final = 1_024
# All tasks of a peak shall be done within the promise of 30 s, with some room.
_WITHIN_SECONDS: Final = 24
_STEPS: Final = (1, 1.5, 2, 2.5, 4, 5, 7.5, 10)
_STEP_SOON_MAX: Final = 2.5
_QUOTA_CODES: Final = {"dynamodb": "L-AB614373", "lambda": "L-B99A9384"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Raise:
    """One setting of `infra/environments.py`. `quota` is the quota of AWS to ask for first, or empty."""

    setting: str
    now: str
    then: str
    quota: str = ""
    request: str = ""


def raised(environment: Environment, told: Mapping[str, Any]) -> tuple[Environment, list[Raise]]:
    """`told` is the forecast of the environment as it is. An environment without a limit in the way stays as it is."""
    reached = {each["limit"] for each in told["reached"]}
    found: list[Raise] = []
    if {"partition writes", "table writes"} & reached:
        environment, more = _writes(environment, told)
        found += more
    size = environment.functions["run_tasks"]
    if {"start of the mapping", "invocations"} & reached and size.batch <= limits.BATCH_MAX.value:
        size = replace(size, batch=50, window_seconds=1)
        found.append(
            Raise(setting="functions.run_tasks.batch and window_seconds", now="10 and 0", then="50 and 1")
        )
    if "workers" in reached and not {"partition writes", "table writes"} & reached:
        size, more = _workers(environment, size)
        found += more
    functions = dict(environment.functions) | {"run_tasks": size}
    return replace(environment, functions=functions), found


def advice(environment: Environment, told: Mapping[str, Any]) -> dict[str, Any]:
    then, found = raised(environment, told)
    if not found:
        return {"raise": [], "raised_p99_seconds": told["lateness_p99_seconds"]}
    again = forecast.tasks(then, due=told["due"], tenants=told["tenants"], over=told["over_seconds"])
    return {
        "raise": [
            {"setting": each.setting, "now": each.now, "then": each.then, "quota": each.quota}
            | {"request": each.request}
            for each in found
        ],
        "raised_p99_seconds": again["lateness_p99_seconds"],
    }


def _writes(environment: Environment, told: Mapping[str, Any]) -> tuple[Environment, list[Raise]]:
    """The fewest write units, and then the fewest shards, with which the fullest partition keeps up. More shards
    cost reads in every minute, so they are for a known minute alone."""
    needed = told["due"] * calibration.TASK_UNITS.value / max(told["over_seconds"], _WITHIN_SECONDS)
    start = max(
        environment.warm_writes.get("items", limits.NEW_TABLE_WRITES.value), calibration.TABLE_QUOTA.value
    )
    shards, writes = _enough(environment.shards, start, needed)
    found = []
    if writes > environment.warm_writes.get("items", 0):
        asks = writes > limits.TABLE_WRITES_MAX.value
        found.append(
            Raise(
                setting="warm_writes of items",
                now=f"{environment.warm_writes.get('items', int(limits.NEW_TABLE_WRITES.value)):,}",
                then=f"{writes:,}",
                quota=(limits.TABLE_WRITES_MAX.quota or "") if asks else "",
                request=_request("dynamodb", writes) if asks else "",
            )
        )
    settings = environment.settings
    if shards > environment.shards:
        found.append(
            Raise(
                setting="settings.shard_plan for the minute of the peak",
                now=f"{environment.shards}",
                then=f"{shards}",
            )
        )
        settings = replace(settings, shard_plan=f"0={shards}")
    warm = dict(environment.warm_writes) | {"items": writes}
    return replace(environment, settings=settings, warm_writes=warm), found


def _enough(shards: int, writes: float, needed: float) -> tuple[int, int]:
    """Up to 2.5 times the write units come first, then more shards with the units as they are, then more of both."""
    wider = [shards * 2**power for power in range(6) if shards * 2**power <= _SHARDS_MAX]
    plans = [
        *((shards, step) for step in _STEPS if step <= _STEP_SOON_MAX),
        *((count, 1) for count in wider),
        *((count, step) for count in wider for step in _STEPS),
    ]
    for count, step in plans:
        if _keeps_up(count, int(writes * step), needed):
            return count, int(writes * step)
    return wider[-1], int(writes * _STEPS[-1])


def _keeps_up(shards: int, writes: int, needed: float) -> bool:
    drawn = placed(shards, max(1, int(writes / calibration.PARTITION_OF_TABLE.value)))
    fullest = max(map(drawn.count, set(drawn))) / shards
    return fullest * needed <= limits.PARTITION_WRITES.value and needed <= writes


def _workers(environment: Environment, size: Any) -> tuple[Any, list[Raise]]:
    reserved = (size.reserved or environment.concurrency_quota) + size.consumers
    quota = environment.concurrency_quota + size.consumers
    then = replace(size, consumers=size.consumers * 2, reserved=reserved)
    asks = quota > limits.ACCOUNT_CONCURRENCY.value or not size.reserved
    change = Raise(
        setting="functions.run_tasks.consumers and reserved",
        now=f"{size.consumers} and {size.reserved or 'none'}",
        then=f"{then.consumers} and {reserved}",
        quota=(limits.ACCOUNT_CONCURRENCY.quota or "") if asks else "",
        request=_request("lambda", quota) if asks else "",
    )
    return then, [change]


def _request(service: str, value: float) -> str:
    return (
        f"aws service-quotas request-service-quota-increase --service-code {service}"
        f" --quota-code {_QUOTA_CODES[service]} --desired-value {value:.0f}"
    )
