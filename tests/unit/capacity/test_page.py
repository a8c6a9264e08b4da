"""The figures about payments in docs/capacity.md are those of the model; `make documents` compares the others."""

from pathlib import Path
from typing import Final

import pytest

from infra.capacity import forecast
from infra.capacity.limits import LIMITS
from infra.capacity.rates import PAYMENT_WRITES, rates
from infra.environments import PROD, STAGING

PAGE: Final = Path("docs/capacity.md").read_text(encoding="utf-8")
DECISION: Final = Path("docs/decisions/0170-capacity-of-a-minute.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("environment", [PROD, STAGING])
def test_steady_payments_and_a_day(environment):
    steady = forecast.payments(environment, rate=350)
    day = forecast.day(environment, payments=10_000_000, peak=350)
    assert (
        f"| {environment.name} | {steady['lateness_p50_seconds']} s | {steady['lateness_p99_seconds']} s"
        f" | {day['lateness_p99_seconds']} s | {steady['from_nothing_p99_seconds']} s"
        f" | {steady['workers_at_once']} | {steady['wait_dollars_a_million']} |"
    ) in PAGE
    if environment is PROD:
        assert f"`settle`, {day['worker_hours']:,} hours | ${day['worker_dollars']} |" in PAGE


def test_the_rates_at_the_peak():
    found = rates(PROD, payments=10_000_000, peak=350)
    told = [line for line in found["lines"] if f"| {line['name']} |" in PAGE]
    assert len(told) == 6
    for line in told:
        assert f"| {line['name']} | {line['need']:,} | {line['has']:,} {line['unit']} |" in PAGE
    for dollars in ("units", "requests", "events_on_the_bus", "logs"):
        assert f"| ${found['dollars'][dollars]:.2f} |" in PAGE
    storage = found["storage"]
    assert (
        f"added: {storage['gb_more_a_day']} GB | ${storage['dollars_more_a_month_for_each_day']} a month"
        in PAGE
    )
    rest = f"rest: {storage['gb_of_accounts_and_tasks']} GB | ${storage['dollars_a_month_for_accounts_and_tasks']:.2f}"
    assert rest in PAGE


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_each_limit_is_told_with_its_value(name):
    """A wrong number in the code contradicts the page, which was written from AWS's documentation."""
    limit = LIMITS[name]
    assert f"| `{name}` | {limit.value:,.0f} | {limit.unit} |" in DECISION


def test_a_payments_write_units_are_the_same_on_every_page():
    units = sum(PAYMENT_WRITES.values()) - PAYMENT_WRITES["events"]
    cost, bench = (Path(f"docs/{page}.md").read_text(encoding="utf-8") for page in ("cost", "benchmarks"))
    assert f"The sum is {units} write units" in cost
    assert f"| alone | {units} | {units - PAYMENT_WRITES['idempotency']} (" in bench


def test_clocks_may_differ_by_the_margin():
    assert f"up to {PROD.settings.open_margin_seconds} s (`open_margin_seconds`)" in PAGE
