"""steady, of payments: registered one by one all the time, as far as this machine can, and all of them beforehand."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from bench import payments, tasks, told, warm
from bench.bare_payments import BareLedger, Transaction
from bench.batches import ids
from bench.bed import Bed
from bench.figures import ratio, rounded, spread
from bench.load import side_by_side
from bench.outcome import Arrival, outcome
from bench.plan import BATCH, CLIENTS, Plan
from bench.report import Line
from bench.stream import Planned, planned, sleep_until
from bench.watching import Seen, Watching, watching
from cli.failure import Failure
from cli.progress import step
from postdate.domain import instants

ONE_BY_ONE_MAX: Final = 100
_BEFOREHAND_MIN: Final = 10
_ONE_BY_ONE: Final = "one by one"
_BEFOREHAND: Final = "beforehand"
_AHEAD_SECONDS: Final = (3.0, 8.0)
_SECONDS_TO_REGISTER: Final = 5
_TIME_TO_REGISTER: Final = 1.6
_SECONDS_OF_MANY: Final = 0.5
_TIMERS: Final = 8
_TIMERS_SECONDS: Final = 5
_HEAD_START_SECONDS: Final = 1


Meanwhile = Callable[[float], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    rate: int
    seconds: float
    how: str


class Registered(NamedTuple):
    due_ms: dict[str, float]
    took_ms: float


def payments_steady(bed: Bed, plan: Plan) -> Iterator[Line]:
    """The figure with a floor is the lateness's p99, seen from outside: the floor is that of timers which make one bare
    transaction of four rows at the instant, and the lower the better, so is the ratio. What was answered is by the
    function's own clock, without the time of a look."""
    batched_per_second = warm.payments(bed)
    for rate in plan.payment_rates:
        floor = timers_p99(bed, rate)
        for stream in _streams(rate, plan.seconds):
            line = _steady(bed, stream, batched_per_second)
            late = line.get("p99_ms")
            yield line | {"floor": floor, "ratio": None if late is None else ratio(late, floor)}


def steady_one_by_one(bed: Bed, rate: int, seconds: float) -> Line:
    """The stream whose payments are registered during it, without a floor."""
    batched_per_second = warm.payments(bed)
    return _steady(bed, Stream(rate=rate, seconds=seconds, how=_ONE_BY_ONE), batched_per_second)


def steady_beforehand(bed: Bed, rate: int, seconds: float, meanwhile: Meanwhile | None = None) -> Line:
    """The stream whose payments are all registered before the first is due, without a floor."""
    batched_per_second = warm.payments(bed)
    stream = Stream(rate=rate, seconds=seconds, how=_BEFOREHAND)
    return _steady(bed, stream, batched_per_second, meanwhile)


def _streams(rate: int, seconds: int) -> Iterator[Stream]:
    """Registering takes more of this machine than settling: beside each other they show what both need, one after the
    other what settling needs."""
    if rate <= ONE_BY_ONE_MAX:
        yield Stream(rate=rate, seconds=seconds, how=_ONE_BY_ONE)
    if rate >= _BEFOREHAND_MIN:
        many = rate > ONE_BY_ONE_MAX
        yield Stream(rate=rate, seconds=seconds * _SECONDS_OF_MANY if many else seconds, how=_BEFOREHAND)


def _steady(bed: Bed, stream: Stream, batched_per_second: float, meanwhile: Meanwhile | None = None) -> Line:
    """Calls `meanwhile` with the first instant when all payments are registered."""
    rate, seconds = stream.rate, stream.seconds
    began, began_ms = time.perf_counter(), tasks.ms(tasks.now())
    with watching(bed) as watcher:
        with step(f"{rate * seconds:.0f} payments, {rate} a second, registered {stream.how}"):
            if stream.how == _ONE_BY_ONE:
                registered = _one_by_one(bed, watcher, rate, seconds)
            else:
                registered = _beforehand(bed, watcher, rate, seconds, batched_per_second)
        took = time.perf_counter() - began
        if meanwhile is not None:
            meanwhile(min(at for each in registered for at in each.due_ms.values()))
        with step("waiting for the last of them"):
            seen = watcher.seen()
    watched_for = time.perf_counter() - began
    due_ms = {id: at for each in registered for id, at in each.due_ms.items()}
    return {
        "case": "steady",
        "what": f"payments, {rate}/s, registered {stream.how}",
        "count": len(due_ms),
        "registered_per_second": rounded(len(due_ms) / took),
        "due_per_second": rounded(_rate(due_ms)),
        "settled_per_second": rounded(settled_rate(due_ms, seen.seen_ms)),
        **_judged(bed, due_ms, seen),
        **spread(told.answered_ms(bed, began_ms), 50, 99, prefix="answered_"),
        **spread((each.took_ms for each in registered), 50, 95, prefix="register_"),
        **seen.cost(watched_for),
    }


def _rate(due_ms: dict[str, float]) -> float:
    """Payments due a second, between the first instant and the last."""
    between = max(due_ms.values()) - min(due_ms.values())
    return 1000 * (len(due_ms) - 1) / between if between else 0.0


def settled_rate(due_ms: dict[str, float], seen_ms: dict[str, float]) -> float:
    """Payments settled a second, between the first instant and the last payment seen COMPLETED."""
    between = max(seen_ms.values(), default=0.0) - min(due_ms.values())
    return 1000 * len(seen_ms) / between if between > 0 else 0.0


def _judged(bed: Bed, due_ms: dict[str, float], seen: Seen) -> dict[str, float]:
    found = payments.kept(bed, due_ms)
    from_outside = outcome(due_ms, (Arrival(id, at) for id, at in seen.seen_ms.items()))
    by_the_rows = payments.judged(bed, found, due_ms)
    return from_outside.figures() | {
        "missing": max(from_outside.missing, by_the_rows.missing),
        "twice": by_the_rows.twice,
        "unsound": payments.unsound(bed),
        "early": max(from_outside.early, by_the_rows.early),
        **payments.own_account(found, due_ms),
    }


def _one_by_one(bed: Bed, watcher: Watching, rate: int, seconds: float) -> list[Registered]:
    """At its rate as long as four clients keep up with it. When they do not, what is due moves with them."""
    stream = planned(rate, seconds, _AHEAD_SECONDS)
    pairs = payments.spread_pairs(len(stream))
    begin = datetime.now(UTC)

    def caller(opened: ExitStack) -> Callable[[Planned], Registered]:
        client = opened.enter_context(bed.client())

        def call(one: Planned) -> Registered:
            sleep_until(begin + timedelta(seconds=one.after))
            began, due_at = time.perf_counter(), tasks.ahead(one.ahead)
            id = payments.register(client, payments.form(pairs[one.number], due_at))
            registered = Registered({id: tasks.ms(due_at)}, 1000 * (time.perf_counter() - began))
            watcher.watch(registered.due_ms)
            return registered

        return call

    return side_by_side(CLIENTS, stream, caller).answers


def _beforehand(
    bed: Bed, watcher: Watching, rate: int, seconds: float, batched_per_second: float
) -> list[Registered]:
    """All of them by the hundred, before the first is due. A batch's are due at random instants within the time that
    it stands for."""
    drawn = random.Random(rate)  # noqa: S311 (no secret)
    pairs = payments.spread_pairs(round(rate * seconds))
    begin = tasks.ahead(_SECONDS_TO_REGISTER + _TIME_TO_REGISTER * len(pairs) / batched_per_second)

    def caller(opened: ExitStack) -> Callable[[int], Registered]:
        client = opened.enter_context(bed.client())

        def call(start: int) -> Registered:
            chosen = pairs[start : start + BATCH]
            afters = [(start + drawn.uniform(0, len(chosen))) / rate for _ in chosen]
            due_at = [instants.whole(begin + timedelta(seconds=after)) for after in afters]
            forms = [payments.keyed(payments.form(pair, at)) for pair, at in zip(chosen, due_at, strict=True)]
            began = time.perf_counter()
            answer = client.post(f"{payments.PATH}/batch", {"payments": forms}).expect(200)
            took_ms = 1000 * (time.perf_counter() - began)
            due_ms = dict(zip(ids(answer, "payment"), map(tasks.ms, due_at), strict=True))
            watcher.watch(due_ms)
            return Registered(due_ms, took_ms)

        return call

    registered = side_by_side(CLIENTS, range(0, len(pairs), BATCH), caller).answers
    if datetime.now(UTC) > begin:
        raise Failure(f"{len(pairs)} registrations took longer than the time there was for them.")
    return registered


def timers_p99(bed: Bed, rate: int) -> float:
    """The p99 of the lateness of bare timers until the transaction's answer, which is what the watcher would see."""
    bare = BareLedger(bed)
    drawn = random.Random(rate)  # noqa: S311 (no secret)
    afters = sorted(drawn.uniform(0, _TIMERS_SECONDS) for _ in range(rate * _TIMERS_SECONDS))
    waiting = bare.waiting(payments.spread_pairs(len(afters)), tasks.ahead(86_400 * 30))
    transactions = bare.alone(waiting)
    begin = datetime.now(UTC) + timedelta(seconds=_HEAD_START_SECONDS)

    def call(one: tuple[float, Transaction]) -> float:
        after, transaction = one
        due_at = begin + timedelta(seconds=after)
        sleep_until(due_at)
        bare.write(transaction)
        return (datetime.now(UTC) - due_at) / timedelta(milliseconds=1)

    with step(f"{len(afters)} bare timers, {rate} a second"):
        ran: Any = side_by_side(_TIMERS, zip(afters, transactions, strict=True), lambda _: call)
    return spread(ran.answers, 99)["p99_ms"]
