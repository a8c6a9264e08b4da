"""Derived rates of a whole day: what each limit must carry at the peak, storage growth, and the price of the day.

The load: payments with a hold, status reads, cancels, and accounts and tasks at rest. Units and
requests of an item are those that the tests count (docs/cost.md).
"""

from typing import Any, Final

from infra.capacity import calibration, limits
from infra.capacity.calibration import PRICES
from infra.environment import Environment

STATUS_READS: Final = 12.0
CANCELS: Final = 1.2
ACCOUNTS: Final = 100_000_000
TASKS_STORED: Final = 100_000_000
# Write units of one payment on each table or index, from its registration with a hold to its settlement.
PAYMENT_WRITES: Final = {
    "payments": 4,
    "payments/by_tenant": 1,
    "payments/by_listing": 1,
    "payments/by_payee": 1,
    "accounts": 6,
    "journal": 2,
    "journal/by_payer": 1,
    "journal/by_payee": 1,
    "idempotency": 1,
    "events": 2,
}
# The second unit of an event is at most the page of the feed.
_CANCEL_WRITES: Final = {"payments": 2, "accounts": 2, "events": 2}
_READS, _SQS, _LAMBDA, _BUS = 4.0, 4.0, 2.0, 2.0
_LOG_KB: Final = 3.0
# Bytes at rest: a payment with its key, indexes and journal; its events; a finished task; an account (assumed).
_PAYMENT_BYTES, _EVENT_BYTES, _TASK_BYTES, _ACCOUNT_BYTES = 2_300, 1_400, 1_100, 300


def rates(environment: Environment, *, payments: int, peak: float) -> dict[str, Any]:
    """`lines` have the need at the peak and the limit; a line whose need is above its limit has `fits` false."""
    requests = peak + STATUS_READS + CANCELS
    throttle = environment.throttle
    gateway = min(limits.GATEWAY.value, throttle.requests_per_second if throttle else limits.GATEWAY.value)
    registering = calibration.REGISTER_CALLS.value * calibration.CALL.value
    api = environment.functions["api"]
    lines = [
        _line("requests to the API", requests, gateway, "a second"),
        _line(
            "copies of api",
            requests * registering,
            api.reserved or environment.concurrency_quota,
            "at once",
        ),
        *(
            _line(
                f"writes of {name}",
                peak * units + CANCELS * _CANCEL_WRITES.get(name, 0),
                environment.warm_writes.get(name, limits.NEW_TABLE_WRITES.value),
                "units a second",
            )
            for name, units in PAYMENT_WRITES.items()
        ),
    ]
    return {"lines": lines, "storage": _storage(payments), "dollars": _dollars(environment, payments)}


def _line(name: str, need: float, has: float, unit: str) -> dict[str, Any]:
    return {"name": name, "need": round(need), "has": round(has), "unit": unit, "fits": need <= has}


def _storage(payments: int) -> dict[str, float]:
    """The stored bytes and their price: in GB, and in dollars a month."""
    grows = payments * (_PAYMENT_BYTES + _EVENT_BYTES) / 1e9
    rests = (ACCOUNTS * _ACCOUNT_BYTES + TASKS_STORED * _TASK_BYTES) / 1e9
    return {
        "gb_more_a_day": round(grows, 1),
        "dollars_more_a_month_for_each_day": round(grows * PRICES["stored_gb_month"], 2),
        "gb_of_accounts_and_tasks": round(rests, 1),
        "dollars_a_month_for_accounts_and_tasks": round(rests * PRICES["stored_gb_month"], 2),
    }


def _dollars(environment: Environment, payments: int) -> dict[str, float]:
    """Dollars a day, without the wait of the workers, which the simulation of the day gives."""
    writes = sum(PAYMENT_WRITES.values()) * PRICES["write_unit"]
    a_payment = {
        "units": writes + _READS * PRICES["read_unit"],
        "requests": _SQS * PRICES["sqs_request"]
        + _LAMBDA * PRICES["lambda_request"]
        + PRICES["http_request"],
        "events_on_the_bus": _BUS * PRICES["event_on_bus"],
        "logs": _LOG_KB / 1e6 * PRICES["log_gb"],
    }
    return {name: round(price * payments, 2) for name, price in a_payment.items()} | {
        "status_reads": round(
            STATUS_READS * 86_400 * (PRICES["http_request"] + PRICES["lambda_request"] + PRICES["read_unit"]),
            2,
        )
    }
