"""burst, of payments: many due at one instant, spread over two hundred accounts or all onto one.

The instant is a minute's first, and registered before that minute is opened: as with payments of a day or a month,
it is the sweep that calls, and puts those together that share accounts.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from bench import payments, tasks, warm
from bench.bare_payments import BareLedger
from bench.bed import Bed
from bench.draining import Received, Reserved, apart_ms, lateness_ms, watched
from bench.figures import ratio, rounded, spread
from bench.minutes import minute_after, opened_seconds
from bench.payments import Pair
from bench.plan import CLIENTS, Plan
from bench.report import Line
from cli.failure import Failure
from cli.progress import step

_SECONDS_TO_REGISTER = 6
_TIME_TO_REGISTER = 1.6
_PATIENCE_SECONDS = 30
_DRAINED_A_SECOND = 50
_WATCHED_EVERY_SECONDS = 0.025
_FAR_SECONDS = 86_400 * 30
Through = Callable[[], int]


def payments_spread(bed: Bed, plan: Plan) -> Iterator[Line]:
    """Committed is what the payers no longer hold. Drain is all of them by the time from the instant to the last
    commit; its floor is the same rows in as few transactions as can be, of up to 100 rows, from four threads."""
    pairs = payments.spread_pairs(plan.items)
    payers = sorted({payer for payer, _ in pairs})
    yield from _burst(bed, "payments spread over accounts", pairs, lambda: Reserved(bed, payers))


def payments_hot(bed: Bed, plan: Plan) -> Iterator[Line]:
    """Committed is what reached the one account; the rest as above. Then the API audits everything, once."""
    pairs = payments.hot_pairs(plan.items)
    yield from _burst(
        bed, "payments onto one hot account", pairs, lambda: Received(bed, payments.HOT), payments.HOT
    )


def _burst(
    bed: Bed, what: str, pairs: Sequence[Pair], watching: Callable[[], Through], hot: str | None = None
) -> Iterator[Line]:
    seconds = _SECONDS_TO_REGISTER + _TIME_TO_REGISTER * len(pairs) / warm.payments(bed)
    line = _drained(bed, what, pairs, minute_after(bed, seconds), watching, hot)
    floor = _floor(bed, pairs)
    drain = line["drain_per_second"]
    yield line | {"floor": rounded(floor), "ratio": ratio(drain, floor) if drain else None}


def _drained(
    bed: Bed,
    what: str,
    pairs: Sequence[Pair],
    due_at: datetime,
    watching: Callable[[], Through],
    hot: str | None,
) -> Line:
    count = len(pairs)
    with step(f"{count} registrations for one instant"):
        forms = [payments.form(pair, due_at) for pair in pairs]
        registered = payments.register_batches(bed, forms, CLIENTS)
    spare = (due_at - tasks.now()).total_seconds()
    if spare < opened_seconds(bed):
        raise Failure(f"{count} registrations took longer than the time there was for them.")
    due_ms = dict.fromkeys((id for ids in registered.answers for id in ids), tasks.ms(due_at))
    through = watching()
    before = payments.account_versions(bed)
    with step(f"waiting {spare:.0f} s for the instant, then for {count} commits"):
        looks = watched(
            through, count, due_at,
            every_seconds=_WATCHED_EVERY_SECONDS,
            patience_seconds=_PATIENCE_SECONDS + count / _DRAINED_A_SECOND,
        )  # fmt: skip
    late = lateness_ms(looks, tasks.ms(due_at))
    with step("what the tables say of them"):
        after = payments.account_versions(bed)
        found = payments.kept(bed, due_ms)
        judged = payments.judged(bed, found, due_ms)
        unsound = payments.unsound(bed)
        audit = {"audit": payments.audit(bed)} if hot else {}
    changes = {id: after[id] - before[id] for id in after}
    return {
        "case": "burst",
        "what": what,
        "count": count,
        "registered_per_second": rounded(count / registered.seconds),
        "spare_seconds": rounded(spare),
        "drain_per_second": rounded(1000 * len(late) / late[-1]) if late and late[-1] > 0 else None,
        **spread(late, 50, 99),
        "missing": max(count - len(late), judged.missing),
        "twice": judged.twice,
        "early": max(judged.early, sum(each < 0 for each in late)),
        "unsound": unsound,
        **audit,
        **payments.own_account(found, due_ms),
        "account_changes_per_payment": rounded(sum(changes.values()) / count),
        **({"payments_per_transaction": rounded(count / max(1, changes[hot]))} if hot else {}),
        "looks": len(looks),
        "looks_apart_ms": rounded(apart_ms([look for look in looks if look.at_ms > tasks.ms(due_at)])),
    }


def _floor(bed: Bed, pairs: Sequence[Pair]) -> float:
    bare = BareLedger(bed)
    transactions = bare.merged(bare.waiting(pairs, tasks.ahead(_FAR_SECONDS)))
    with step(f"the same in {len(transactions)} bare transactions"):
        ran = bare.written(transactions)
    return len(pairs) / ran.seconds
