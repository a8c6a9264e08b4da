"""Forecasts for an environment: its own settings in the simulation, and the effect of each limit halved."""

from collections.abc import Mapping
from dataclasses import replace
from math import cos, pi
from typing import Any, Final

from infra.capacity import calibration, limits
from infra.capacity.calibration import PRICES
from infra.capacity.engine import run
from infra.capacity.load import Message, minute, placed, steady
from infra.capacity.parts import Outcome
from infra.capacity.setting import Setting, setting
from infra.environment import Environment

_SENDERS: Final = 8
_PACKETS_A_SEND: Final = 10
# A day's shape: the peak at its middle, and the third power of a cosine from the lowest rate up to it.
_HOURS: Final = 24
_SAMPLED_SECONDS: Final = 20
_MEAN_OF_SHAPE: Final = 0.3125


def tasks(
    environment: Environment,
    *,
    due: int,
    tenants: int,
    over: float = 60,
    largest: float = 0.0,
    values: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The minute in which `due` tasks of `tenants` are due, their instants spread over `over` seconds."""
    found, used, packets = _peak(environment, due, tenants, over, largest, values or limits.stated())
    price = (
        due * (used.work.units * PRICES["write_unit"] + PRICES["read_unit"])
        + found.requests * PRICES["sqs_request"]
        + found.invocations * PRICES["lambda_request"]
        + found.busy_seconds * used.memory_mb / 1024 * PRICES["gb_second"]
    )
    return (
        {"load": "a minute with tasks", "environment": environment.name, "due": due}
        | {"over_seconds": over, "tenants": tenants, "packets": packets}
        | _told(found)
        | {"dollars": round(price, 2)}
        | {"sent_within_seconds": round(sent_within(environment, packets, due), 1)}
        | {"sent_ahead_seconds": environment.settings.open_lead_seconds}
        | _breaks(found)
    )


def as_new(environment: Environment) -> Environment:
    """The environment with tables and mappings as AWS makes them, without warm throughput, pollers and windows."""
    functions = {
        name: replace(size, batch=10, window_seconds=0, pollers=0)
        for name, size in environment.functions.items()
    }
    return replace(environment, warm_writes={}, functions=functions)


def payments(environment: Environment, *, rate: float, seconds: float = 60) -> dict[str, Any]:
    """A steady stream of single payments, once with a mapping that has scaled before, once from nothing."""
    values = limits.stated()
    found, used = _stream(environment, rate, seconds, values, warm=True)
    nothing, _ = _stream(environment, rate, seconds, values, warm=False)
    return (
        {"load": "steady payments", "environment": environment.name, "a_second": rate}
        | _told(found)
        | {"worker_seconds_a_million": round(found.busy_seconds / found.items * 1e6)}
        | {"wait_dollars_a_million": round(_lambda_price(found, used) / found.items * 1e6, 2)}
        | {"from_nothing_p99_seconds": round(nothing.percentile(0.99), 3)}
        | _breaks(found)
    )


def day(environment: Environment, *, payments: int, peak: float) -> dict[str, Any]:
    """A day with so many payments whose busiest hour has `peak` a second: a part of each hour is simulated."""
    values = limits.stated()
    lateness: list[float] = []
    busy, at_once = 0.0, 0
    for rate in hours(payments, peak):
        found, _ = _stream(environment, rate, _SAMPLED_SECONDS, values, warm=True)
        lateness += found.lateness
        busy += found.busy_seconds
        at_once = max(at_once, found.at_once)
    lateness.sort()
    seconds = busy * 3600 / _SAMPLED_SECONDS
    memory = environment.functions["settle"].memory_mb
    return {
        "load": "a day with payments",
        "environment": environment.name,
        "payments": payments,
        "peak_a_second": peak,
        "lateness_p50_seconds": round(lateness[len(lateness) // 2], 3),
        "lateness_p99_seconds": round(lateness[int(len(lateness) * 0.99)], 3),
        "workers_at_once": at_once,
        "worker_hours": round(seconds / 3600, 1),
        "worker_dollars": round(seconds * memory / 1024 * PRICES["gb_second"], 2),
    }


def hours(payments: int, peak: float) -> list[float]:
    """The rate of each hour of the day. Their mean makes `payments` a day."""
    mean = payments / 86_400
    low = (mean - peak * _MEAN_OF_SHAPE) / (1 - _MEAN_OF_SHAPE)
    if not 0 <= low <= peak:
        raise ValueError(f"a day with {payments} payments has no such peak of {peak} a second")
    shapes = [((1 - cos(2 * pi * (hour + 0.5) / _HOURS)) / 2) ** 3 for hour in range(_HOURS)]
    return [low + (peak - low) * shape for shape in shapes]


def halved(environment: Environment, *, due: int, tenants: int, over: float) -> dict[str, float]:
    """The p99 of the minute with each limit of AWS halved, one at a time; limits without an effect are left out."""
    stated = limits.stated()
    now = tasks(environment, due=due, tenants=tenants, over=over)["lateness_p99_seconds"]
    found = {}
    for name in stated:
        values = stated | {name: stated[name] / 2}
        if setting(environment, "run_tasks", values) == setting(environment, "run_tasks", stated):
            continue
        outcome, _, _ = _peak(environment, due, tenants, over, 0.0, values)
        found[name] = round(outcome.percentile(0.99), 3)
    return {name: late for name, late in found.items() if abs(late - now) > now / 100}


def sent_within(environment: Environment, packets: int, due: int) -> float:
    """The seconds in which the sweep reads the rows of one minute and sends their packets: a sweeper for each group
    of shards, its calls in parallel, its own work on one core."""
    groups = -(-environment.shards // environment.settings.shards_per_group)
    sweepers = min(groups, environment.functions["sweep"].consumers)
    rounds = -(-groups // sweepers)
    core = min(1.0, environment.functions["sweep"].memory_mb / calibration.LAMBDA_VCPU_MB.value)
    own = (due * calibration.ROW_CORE.value + packets * calibration.PACKET_CORE.value) / core
    calls = packets / _PACKETS_A_SEND * calibration.CALL.value / _SENDERS
    return rounds * max(own, calls + due * calibration.ROW_CORE.value / core) / groups


def _peak(
    environment: Environment,
    due: int,
    tenants: int,
    over: float,
    largest: float,
    values: Mapping[str, float],
) -> tuple[Outcome, Setting, int]:
    used = setting(environment, "run_tasks", values)
    messages = minute(
        due,
        tenants=tenants,
        over=over,
        partitions=placed(used.keys, used.store.partitions),
        group=environment.settings.shards_per_group,
        largest=largest,
    )
    within = sent_within(environment, len(messages), due)
    begins = -environment.settings.open_lead_seconds
    messages = _as_sent(messages, begins, within)
    return run(messages, fleet=used.fleet, work=used.work, store=used.store), used, len(messages)


def _as_sent(messages: list[Message], begins: float, within: float) -> list[Message]:
    """A message is visible when the sweep has sent it, if that is later than planned."""
    count = len(messages)
    sent = [
        (max(at, begins + within * (place + 1) / count), items) for place, (at, items) in enumerate(messages)
    ]
    return sorted(sent, key=lambda message: message[0])


def _stream(
    environment: Environment, rate: float, seconds: float, values: Mapping[str, float], *, warm: bool
) -> tuple[Outcome, Setting]:
    used = setting(environment, "settle", values)
    fleet = used.fleet
    if warm and not fleet.window:
        fleet = replace(fleet, first=fleet.most, warm=fleet.most)
    elif warm:
        fleet = replace(fleet, warm=fleet.most)
    messages = steady(rate, seconds, partitions=used.store.partitions)
    return run(messages, fleet=fleet, work=used.work, store=used.store), used


def _lambda_price(found: Outcome, used: Setting) -> float:
    return (
        found.busy_seconds * used.memory_mb / 1024 * PRICES["gb_second"]
        + found.invocations * PRICES["lambda_request"]
        + found.requests * PRICES["sqs_request"]
    )


def _told(found: Outcome) -> dict[str, Any]:
    return {
        "lateness_p50_seconds": round(found.percentile(0.5), 3),
        "lateness_p95_seconds": round(found.percentile(0.95), 3),
        "lateness_p99_seconds": round(found.percentile(0.99), 3),
        "lateness_max_seconds": round(found.percentile(1.0), 3),
        "drained_in_seconds": round(found.ended_at, 1),
        "throttled_tries": found.throttled,
        "workers_at_once": found.at_once,
        "invocations": found.invocations,
    }


def _breaks(found: Outcome) -> dict[str, Any]:
    """The limits that items waited for, in the order in which they were reached."""
    ordered = sorted(found.reached.items(), key=lambda pair: pair[1].first_at)
    told = [
        {
            "limit": name,
            "first_at_seconds": round(reached.first_at, 1),
            "seconds_an_item": round(reached.item_seconds / found.items, 2),
        }
        for name, reached in ordered
    ]
    return {"reached": told}
