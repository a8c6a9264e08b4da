"""What goes wrong in one run, and how often: drawn from the seed, so that each run is bad in its own way.

A run with every fault at once would hide what only shows when most things work: each kind is there in about a third of
the runs.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from typing import Final

from tests.simulation.hub import SECOND

MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
# Two clocks may differ by almost an hour, no more: a minute is audited an hour after its end, and what a clock that is
# further behind puts into it after that, and whose call is lost besides, nobody looks for.
FAR_OFF: Final = 29 * MINUTE


class Fault(StrEnum):
    """What one call to AWS may meet."""

    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "done, then crash"
    LOST = "done, answer lost"
    TIMED_OUT = "done, later than anybody waits"
    UNREACHABLE = "not reached"
    ERROR = "500, not done"
    DONE_ERROR = "500, done"
    THROTTLED = "throttled"
    CONFLICT = "conflict"
    IN_PROGRESS = "in progress"
    MIXED = "refused, and conflicts besides"
    PARTIAL = "done in part"
    PAUSED = "done, then a pause"
    PAUSED_BEFORE = "a pause, then done"


CRASHES: Final = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER})


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """A service that answers nothing for a while, from `start` on after the run began; `conflicts` are
    accounts that everybody writes to: each transaction that moves money is refused."""

    service: str
    start: int
    duration: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Mix:
    rates: dict[Fault, float] = field(default_factory=dict)
    sticky: float = 0.0
    latency: int = 0
    skew: int = 0
    jumps: int = 0
    duplicates: float = 0.0
    deletes_lost: float = 0.0
    delayed: float = 0.0
    stale: int = 0
    outage: Outage | None = None
    ticks: bool = True
    heartbeat: bool = True
    sweepers: int = 1
    executors: int = 2
    shards: int = 1
    clients: int = 2
    requests: int = 8
    impatient: float = 0.0
    tempers: tuple[str, ...] = ("takes",)
    attempts: int = 3
    accounts: int = 3
    payments: float = 0.5
    pause: int = MINUTE
    span: int = 4 * MINUTE
    tries: int = 12
    money: float = 0.04
    timeouts: tuple[int, ...] = (5, 30, 120)

    @property
    def is_quiet(self) -> bool:
        """Nothing is lost, late or wrong in such a run, and destinations keep no worker from other work."""
        wrong = self.rates or self.outage or self.duplicates or self.deletes_lost or self.delayed
        wakes = self.ticks and self.heartbeat and self.skew <= 5 * SECOND
        return wakes and not wrong and not {"is slow", "never answers"} & set(self.tempers)

    @property
    def leaves_calls_alone(self) -> bool:
        """Whatever dies in such a run, no call is away for as long as an audit waits."""
        short = self.outage is None or self.outage.duration <= 3 * MINUTE
        pauses = {Fault.PAUSED, Fault.PAUSED_BEFORE} & self.rates.keys()
        awake = not pauses or self.pause <= 2 * MINUTE
        return short and awake and not self.delayed and self.skew <= 5 * SECOND

    def calm(self) -> "Mix":
        """From when on faults stop; clocks are as wrong as they usually are."""
        return replace(
            self,
            rates={},
            skew=min(self.skew, 5 * SECOND),
            jumps=0,
            duplicates=0.0,
            deletes_lost=0.0,
            delayed=0.0,
            outage=None,
            impatient=0.0,
            tempers=("takes",),
            ticks=True,
        )


TEMPERS: Final = (
    "takes",
    "refuses",
    "refuses for good",
    "asks for time",
    "is slow",
    "takes and resets",
    "never answers",
)


def drawn(draws: Random) -> Mix:
    def sometimes(chance: float = 0.35) -> bool:
        return draws.random() < chance

    rates: dict[Fault, float] = {}
    quiet = sometimes(0.08)
    if not quiet:
        for fault in Fault:
            if sometimes():
                rates[fault] = draws.choice((0.005, 0.02, 0.06))
    outage = None
    if not quiet and sometimes(0.2):
        outage = Outage(
            service=draws.choice(("dynamodb", "sqs", "conflicts", "conflicts")),
            start=draws.randrange(0, 2 * MINUTE),
            duration=draws.choice((20 * SECOND, 20 * SECOND, 3 * MINUTE, 3 * MINUTE, HOUR)),
        )
    tempers = tuple(temper for temper in TEMPERS[1:] if sometimes(0.1 if quiet else 0.35))
    found = Mix(
        rates=rates,
        sticky=draws.choice((0.0, 0.5, 0.9)),
        latency=draws.choice((0, 0, 5_000, 5_000 if quiet else 200_000)),
        skew=draws.choice((0, *(5 * SECOND,) * 9, FAR_OFF)),
        jumps=draws.choice((0, 0, 0, 2)),
        duplicates=0.0 if quiet else draws.choice((0.0, 0.0, 0.1, 0.3)),
        deletes_lost=0.0 if quiet else draws.choice((0.0, 0.0, 0.1)),
        delayed=0.0 if quiet else draws.choice((0.0, 0.0, 0.05)),
        stale=draws.choice((0, 0, MINUTE)),
        outage=outage,
        ticks=not sometimes(0.1),
        heartbeat=not sometimes(0.1),
        sweepers=draws.choice((1, 1, 2, 3)),
        executors=draws.choice((1, 2, 3)),
        shards=draws.choice((1, 1, 1, 1, 3)),
        clients=draws.choice((1, 2, 3)),
        requests=draws.choice((4, 6, 10)),
        impatient=draws.choice((0.0, 0.0, 0.2)),
        tempers=("takes", *tempers),
        attempts=draws.choice((1, 2, 2, 3)),
        accounts=draws.choice((2, 3, 4)),
        payments=draws.choice((0.0, 0.5, 0.5, 1.0)),
        pause=draws.choice((SECOND, 30 * SECOND, 2 * MINUTE, 20 * MINUTE)),
        span=draws.choice((MINUTE, 2 * MINUTE, 4 * MINUTE)),
    )
    return found if quiet or not sometimes(0.4) else draws.choice(_THEMES)(found, draws)


def _contested(mix: Mix, draws: Random) -> Mix:
    """Slow answers, slow targets and everything twice: two workers are after one item all the time."""
    return replace(
        mix,
        rates={Fault.PAUSED: 0.06, Fault.PAUSED_BEFORE: 0.06},
        latency=draws.choice((5_000, 1_500_000, 1_500_000)),
        duplicates=0.5,
        delayed=0.0,
        outage=None,
        executors=3,
        tempers=("is slow", "is slow", "never answers", "takes and resets"),
        attempts=3,
        timeouts=(120,),
        pause=draws.choice((20, 60)) * SECOND,
        payments=min(mix.payments, 0.5),
        span=MINUTE,
        requests=6,
    )


def _deadly(mix: Mix, draws: Random) -> Mix:
    """Whoever does anything dies over it, and much of it fails for good."""
    crashes = {Fault.CRASH_BEFORE: 0.04, Fault.CRASH_AFTER: 0.08}
    return replace(
        mix,
        rates=crashes,
        delayed=0.0,
        outage=None,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes", "refuses", "refuses for good"),
        attempts=draws.choice((1, 2)),
    )


def _deaf(mix: Mix, draws: Random) -> Mix:
    """The queue takes little, or only a part of what it is given."""
    return replace(
        mix,
        rates={Fault.PARTIAL: 0.1, Fault.ERROR: 0.08, Fault.THROTTLED: 0.08},
        sticky=0.9,
        delayed=0.0,
        skew=min(mix.skew, 5 * SECOND),
        outage=draws.choice((None, Outage(service="sqs", start=20 * SECOND, duration=90 * SECOND))),
        tempers=("takes", "refuses"),
    )


def _forsaken(mix: Mix, draws: Random) -> Mix:
    """Callers ask once and do not come back: what was written without a call is the sweep's to find."""
    rates = {Fault.CRASH_BEFORE: 0.08, Fault.CRASH_AFTER: 0.04, Fault.ERROR: 0.05}
    return replace(
        mix, rates=rates, sticky=0.9, tries=1, delayed=0.0, outage=None, skew=min(mix.skew, 5 * SECOND)
    )


def _frozen(mix: Mix, draws: Random) -> Mix:
    """Accounts are frozen, emptied and in everybody's way while payments become due."""
    outage = Outage(
        service="conflicts", start=30 * SECOND, duration=draws.choice((30, 170, 175, 400)) * SECOND
    )
    return replace(
        mix,
        payments=1.0,
        money=0.3,
        accounts=2,
        requests=10,
        span=MINUTE,
        outage=draws.choice((None, outage)),
        latency=min(mix.latency, 5_000),
    )


_THEMES: Final = (_contested, _deadly, _deaf, _forsaken, _frozen)
