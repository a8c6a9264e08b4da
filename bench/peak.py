"""peak: payments of different instants, at 350 a second and at the rate at which the engine itself is at its limit.

The limit is that of bare transactions, one for each payment, written as fast as the engine answers. A stream of this
rate leaves the engine no time for anything but the transactions, so ours needs several payments in a transaction.
"""

from collections.abc import Iterator
from typing import Final

from bench import payments, tasks, warm
from bench.bare_payments import BareLedger
from bench.bed import Bed
from bench.figures import ratio, rounded
from bench.payment_steady import steady_beforehand, timers_p99
from bench.plan import Plan
from bench.report import Line
from cli.progress import step

# The peak of ten million payments a day.
RATE: Final = 350
# Registering at the limit takes longer than settling, so the second stream is shorter.
_SECONDS_AT_LIMIT: Final = 0.5
_FAR_SECONDS: Final = 86_400 * 30


def peak(bed: Bed, plan: Plan) -> Iterator[Line]:
    """At 350 a second the floor is the p99 of bare timers. At the limit it is the limit, and ours are the payments
    settled a second, until the last one."""
    warm.payments(bed)
    floor = timers_p99(bed, RATE)
    yield at_rate(steady_beforehand(bed, RATE, plan.seconds), floor)
    limit = _limit(bed, plan.items)
    seconds = plan.seconds * _SECONDS_AT_LIMIT
    yield at_limit(steady_beforehand(bed, max(1, round(limit)), seconds), limit)


def at_rate(line: Line, floor_ms: float) -> Line:
    late = line.get("p99_ms")
    return line | {
        "case": "peak",
        "floor": floor_ms,
        "ratio": None if late is None else ratio(late, floor_ms),
    }


def at_limit(line: Line, limit: float) -> Line:
    return line | {
        "case": "peak",
        "what": f"{line['what']}, the engine's limit",
        "floor": rounded(limit),
        "ratio": ratio(line["settled_per_second"], limit),
    }


def _limit(bed: Bed, count: int) -> float:
    """Bare transactions a second, four rows each, from four threads without a pause."""
    bare = BareLedger(bed)
    waiting = bare.waiting(payments.spread_pairs(count), tasks.ahead(_FAR_SECONDS))
    transactions = bare.alone(waiting)
    with step(f"{count} bare transactions, one by one"):
        return bare.written(transactions).per_second
