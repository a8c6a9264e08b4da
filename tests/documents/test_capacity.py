"""The figures of docs/capacity.md are those of the model."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from infra.capacity import advice, forecast
from infra.capacity.limits import LIMITS
from infra.environment import Environment
from infra.environments import DEV, PROD, STAGING

PAGE: Final = Path("docs/capacity.md").read_text(encoding="utf-8")
HALF_A_MILLION: Final = 500_000


def row(first: str) -> list[str]:
    (found,) = re.findall(rf"^\| {re.escape(first)} \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in found.split("|")]


def of_minute(environment: Environment, *, tenants: int = HALF_A_MILLION, over: float = 60) -> dict[str, Any]:
    return forecast.tasks(environment, due=HALF_A_MILLION, tenants=tenants, over=over)


@cache
def of_prod(tenants: int = HALF_A_MILLION) -> dict[str, Any]:
    return of_minute(PROD, tenants=tenants)


@pytest.mark.parametrize("tenants", [1, 1_000, HALF_A_MILLION])
def test_half_a_million_tasks_in_one_minute(tenants: int) -> None:
    found = of_prod(tenants)
    first, _, _ = PAGE.partition("### All at one instant")
    (cells,) = re.findall(rf"^\| {tenants:,} \|(.*)\|$", first, re.MULTILINE)
    assert [cell.strip() for cell in cells.split("|")] == [
        f"{found['packets']:,}",
        f"{found['lateness_p50_seconds']} s",
        f"{found['lateness_p99_seconds']} s",
        f"{found['throttled_tries']:,}",
        f"{found['workers_at_once']}",
    ]


@pytest.mark.parametrize("tenants", [1, 1_000, HALF_A_MILLION])
def test_half_a_million_tasks_at_one_instant(tenants: int) -> None:
    found = of_minute(PROD, tenants=tenants, over=0)
    _, _, behind = PAGE.partition("### All at one instant")
    (cells,) = re.findall(rf"^\| {tenants:,} \|(.*)\|$", behind, re.MULTILINE)
    assert [cell.strip() for cell in cells.split("|")] == [
        f"{found['lateness_p50_seconds']} s",
        f"{found['lateness_p99_seconds']} s",
    ]


@pytest.mark.parametrize(
    ("first", "environment"),
    [
        ("100,000 (prod)", PROD),
        ("40,000, the quota of a new account", replace(PROD, warm_writes={"items": 40_000})),
        ("4,000, a new table", forecast.as_new(PROD)),
    ],
)
def test_other_tables(first: str, environment: Environment) -> None:
    found = of_prod() if environment is PROD else of_minute(environment)
    p50, p99, throttled, breaks = row(first)
    assert (p50, p99) == (f"{found['lateness_p50_seconds']} s", f"{found['lateness_p99_seconds']} s")
    assert throttled == f"{found['throttled_tries']:,}"
    assert ("partition" in breaks) == (
        "partition writes" in {each["limit"] for each in found["reached"]} and throttled != "0"
    )


@pytest.mark.parametrize(("tenants", "told"), [(HALF_A_MILLION, "for 500,000 tenants"), (1, "for one.")])
def test_what_helps_at_one_known_instant(tenants: int, told: str) -> None:
    now = of_minute(PROD, tenants=tenants, over=0)
    then = advice.advice(PROD, now)
    assert [each["then"] for each in then["raise"]] == ["1024", "50 and 1"]
    assert f"{then['raised_p99_seconds']} s {told}" in " ".join(PAGE.split())


def test_more_shards_alone_are_enough_for_a_thousand_tenants_at_one_instant() -> None:
    more = replace(PROD, settings=replace(PROD.settings, shard_plan="0=1024"))
    then = of_minute(more, tenants=1_000, over=0)["lateness_p99_seconds"]
    assert f"the shards alone bring it from 35.878 s to {then} s." in " ".join(PAGE.split())


def test_each_limit_halved() -> None:
    found = forecast.halved(PROD, due=HALF_A_MILLION, tenants=HALF_A_MILLION, over=60)
    told = dict(re.findall(r"^\| `(\w+)`: .* \| ([\d.]+) s \|$", PAGE, re.MULTILINE))
    assert told == {name: str(late) for name, late in found.items()}
    assert told.keys() <= LIMITS.keys()


def test_sentences_about_other_settings() -> None:
    def changed(function: str, **settings: int) -> Environment:
        size = replace(PROD.functions[function], **settings)
        return replace(PROD, functions=dict(PROD.functions) | {function: size})

    window = of_minute(changed("run_tasks", batch=50, window_seconds=1))
    assert f"would bring the p99 to {window['lateness_p99_seconds']} s" in PAGE
    pollers = of_minute(changed("run_tasks", pollers=20))
    assert f"({pollers['lateness_p99_seconds']:.0f} s with 20)" in PAGE
    settle = forecast.payments(changed("settle", batch=50, window_seconds=1), rate=350)
    assert f"${settle['wait_dollars_a_million']} a million" in PAGE
    assert f"to {settle['lateness_p99_seconds']} s, above" in PAGE.replace("\n", " ")
    staging = forecast.tasks(STAGING, due=100_000, tenants=100_000)["lateness_p99_seconds"]
    dev = forecast.tasks(DEV, due=1_000, tenants=1_000)["lateness_p99_seconds"]
    assert f"p99 of {staging} s" in PAGE
    assert f"p99 of {dev} s" in PAGE
