"""The costs of our own code that the capacity model uses: measured, counted, or assumed and marked so.

A measured figure names its date, its commit and the command that repeats it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """`basis` tells how the value was found. It begins with "measured", "counted" or "assumed"."""

    value: float
    unit: str
    basis: str


_BURST: Final = "measured 2026-11-19 at 15b47aa, `postdate bench --only burst`"
_COUNTED: Final = "counted, `postdate bench --only units` (docs/cost.md)"

TASK_CORE: Final = Cost(
    value=0.001,
    unit="core-seconds a task of run_tasks",
    basis=f"{_BURST}: 2,049 tasks a second on 2 cores, which the engine shares, so an upper bound",
)
PAYMENT_CORE: Final = Cost(
    value=0.0013,
    unit="core-seconds a payment of settle",
    basis=f"{_BURST}: 1,590 payments a second on 2 cores, which the engine shares, so an upper bound",
)
PACKET_CORE: Final = Cost(
    value=0.000049,
    unit="core-seconds of the sweep for a packet of one",
    basis="measured 2026-11-20 at a027336, `python -m bench.sending`",
)
ROW_CORE: Final = Cost(
    value=0.0001, unit="core-seconds of the sweep to read a row", basis="assumed; Query answers 10 rows a ms"
)
CALL: Final = Cost(
    value=0.01,
    unit="seconds a call of DynamoDB or SQS",
    basis="assumed; AWS promises single-digit milliseconds",
)
COLD_START: Final = Cost(
    value=1.0,
    unit="seconds until a new environment of a worker begins",
    basis="assumed; the import takes 0.3 s of a core",
)
CALLS_OF_BATCH: Final = Cost(
    value=2,
    unit="calls one after the other of a batch: its visibility, its rows",
    basis="counted in the code",
)
CALLS_OF_COMMIT: Final = Cost(
    value=3,
    unit="calls one after the other of a commit: claim, delivery, outcome",
    basis="counted in the code",
)
PATIENCE: Final = Cost(
    value=0.25,
    unit="seconds that a worker repeats a throttled claim",
    basis="counted, four tries in run_tasks/claiming.py",
)
PARTITION_OF_TABLE: Final = Cost(
    value=1_000,
    unit="write units of warm throughput for each partition of a table",
    basis="assumed from 4 partitions of a new table: 4,000 write units and 12,000 read units",
)
TABLE_QUOTA: Final = Cost(
    value=40_000,
    unit="write units a second that an account grants a table without a request",
    basis="counted, Quotas in Amazon DynamoDB; a deployment that needs more asks first",
)
REGISTER_CALLS: Final = Cost(
    value=4, unit="calls one after the other of a registration", basis="counted (docs/cost.md)"
)
TASK_UNITS: Final = Cost(
    value=2, unit="write units of items for the claim and the outcome of a task", basis=_COUNTED
)
ACCOUNT_UNITS: Final = Cost(
    value=4, unit="write units of accounts for the settlement of a payment alone", basis=_COUNTED
)
LAMBDA_VCPU_MB: Final = Cost(
    value=1_769,
    unit="MB of memory for one core of Lambda",
    basis="counted, Lambda developer guide, Configure Lambda function memory",
)

COSTS: Final[Mapping[str, Cost]] = {
    name.lower(): each for name, each in list(globals().items()) if isinstance(each, Cost)
}

# Dollars, us-east-1, on demand, November 2026 (docs/cost.md).
PRICES: Final[Mapping[str, float]] = {
    "write_unit": 0.625e-6,
    "read_unit": 0.125e-6,
    "sqs_request": 0.40e-6,
    "lambda_request": 0.20e-6,
    "gb_second": 0.0000133334,
    "http_request": 1.00e-6,
    "event_on_bus": 1.00e-6,
    "log_gb": 0.50,
    "stored_gb_month": 0.25,
}
