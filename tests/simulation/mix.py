"""What goes wrong in one run, and how often: drawn from the seed, so that each run is bad in its own way.

A run with every fault at once would hide what only shows when most things work: each kind is there in about a third of
the runs.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from typing import Final

from tests.simulation.hub import SECOND

SHARDS_PER_GROUP: Final = 2
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
    TIMED_OUT = "done, after the timeout"
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
    UNREAD = "keys left unread"
    ROWLESS = "done, answer lost, then refused without its row"


CRASHES: Final = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER})
# Drawn after everything else, so that seeds from before they were known still draw the same.
_NEWEST: Final = (Fault.UNREAD, Fault.ROWLESS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """A service that answers nothing for a while, from `start` on after the run began; `conflicts` are
    accounts that everybody writes to: each transaction that moves money is refused. With `workers` those who run tasks
    are cut off from DynamoDB, and nobody else is."""

    service: str
    start: int
    duration: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """What the key of a tenant's tasks has to keep to; each task has one `share` of the time."""

    share: float
    rate: int | None = None
    period: int = 1
    parallelism: int | None = None

    @property
    def form(self) -> dict[str, object]:
        rate = {} if self.rate is None else {"rate": self.rate, "period_seconds": self.period}
        room = {} if self.parallelism is None else {"parallelism": self.parallelism}
        return {"key": "key", **rate, **room}


@dataclass(frozen=True, kw_only=True, slots=True)
class Mix:
    """`down` is when the second destination refuses everything; `explicit` and `recurring` are shares of tasks.
    `waits_max` is the longest that anything waits that is asked for, or that is late, in seconds; `planned_for` how
    long plans of recurring tasks last at most; `ends_within` how soon after the last request faults stop at most.
    `unfunded` is the share of payments for which nothing is held, `restated` that of an administrator's requests
    which set an account right, `closing` that of those which open an account and close it again, `operations`
    that of requests about operations, `lag` how far all
    indexes are behind all the time. `newer` is the share of events that newer code handles, `poison` how many
    messages there are that nobody can read, `fatal` the share of messages over which each worker dies. With
    `newer_forms`, newer code writes rows that older code cannot read, and handles all events once faults have
    stopped. `zone_moves` says when the time-zone database is replaced, and how far it moves the clocks of the one
    zone that it changes. `lost` is how many calls vanish from their queue, even after faults stopped,
    `letters_rest` how long dead letters lie before a person looks at them, and `deadlines` the share of tasks that
    have one, `untried` that of deliveries that are not sent for a reason of the worker's own. With `far_retries`
    each retry is a quarter of an hour away. With `duplicate_key` a transaction's statement that inserts a row which
    exists is refused by a ValidationError, else by a DuplicateItem: AWS's engines differ. `lifetime` is how long
    after its instant an attempt may begin, `pauses` the share of requests that pause the key for a while, `rewinds` how
    often a restore takes all calls and the watermark is put back."""

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
    unfunded: float = 0.33
    restated: float = 0.0
    lag: int = 0
    batches: float = 0.04
    changes: float = 0.0
    timeouts: tuple[int, ...] = (5, 30, 120)
    far_retries: bool = False
    lifetime: int = 60 * 24 * HOUR
    recurring: float = 0.0
    overlaps: tuple[str, ...] = ("skip", "allow", "queue")
    zone_moves: tuple[int, int] | None = None
    explicit: float = 0.0
    control: Control | None = None
    pauses: float = 0.0
    down: tuple[int, int] | None = None
    waits_max: int = 4000
    planned_for: int = 6 * MINUTE
    ends_within: int = 2 * MINUTE
    newer: float = 0.0
    newer_forms: bool = False
    poison: int = 0
    fatal: float = 0.0
    lost: int = 0
    letters_rest: int = 0
    deadlines: float = 0.04
    untried: float = 0.0
    duplicate_key: bool = False
    rewinds: int = 0
    # Not in the text from which further faults are drawn, so that older seeds draw the same.
    closing: float = field(default=0.0, repr=False)
    operations: float = field(default=0.0, repr=False)
    recorded: bool = field(default=False, repr=False)

    @property
    def is_at_once(self) -> bool:
        """Who decides something writes it within seconds."""
        pauses = {Fault.PAUSED, Fault.PAUSED_BEFORE} & self.rates.keys()
        return not pauses and self.outage is None and self.latency <= 5_000

    @property
    def commits_within_minutes(self) -> bool:
        """By the clock of whoever looks at what was written."""
        pauses = {Fault.PAUSED, Fault.PAUSED_BEFORE} & self.rates.keys()
        return self.skew <= 5 * SECOND and (not pauses or self.pause <= 2 * MINUTE)

    @property
    def loses_answers(self) -> bool:
        """Of what was done: whoever asked does it again, if he can."""
        lost = {Fault.LOST, Fault.DONE_ERROR, Fault.TIMED_OUT, Fault.ROWLESS}
        return bool(lost & self.rates.keys())

    @property
    def is_faultless(self) -> bool:
        return self.is_at_once and not self.rates and self.skew <= 5 * SECOND

    @property
    def is_quiet(self) -> bool:
        """Nothing is lost, late or wrong in such a run but destinations, which keep no worker from other work."""
        wrong = (
            *(self.rates, self.outage, self.fatal, self.duplicates, self.deletes_lost, self.delayed),
            self.lost,
            self.rewinds,
        )
        wakes = self.ticks and self.heartbeat and self.skew <= 5 * SECOND and not self.newer_forms
        return wakes and not any(wrong)

    @property
    def leaves_calls_alone(self) -> bool:
        """Whatever dies in such a run, no call is away for as long as an audit waits."""
        if self.fatal or self.lost or self.newer_forms:
            return False
        short = self.outage is None or self.outage.duration <= 3 * MINUTE or self.outage.service == "workers"
        pauses = {Fault.PAUSED, Fault.PAUSED_BEFORE} & self.rates.keys()
        awake = not pauses or self.pause <= 2 * MINUTE
        return short and awake and not self.delayed and self.skew <= 5 * SECOND

    def calm(self) -> "Mix":
        """From when on faults stop; clocks are as wrong, and answers as slow, as they usually are."""
        return replace(
            self,
            rates={},
            latency=min(self.latency, 200_000),
            skew=min(self.skew, 5 * SECOND),
            jumps=0,
            duplicates=0.0,
            deletes_lost=0.0,
            delayed=0.0,
            outage=None,
            impatient=0.0,
            fatal=0.0,
            untried=0.0,
            tempers=("takes",),
            down=None,
            ticks=True,
            newer=1.0 if self.newer_forms else self.newer,
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
            if fault not in _NEWEST and sometimes():
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
    if sometimes(0.3):
        found = replace(found, recurring=draws.choice((0.2, 0.6)))
    if sometimes(0.3):
        found = replace(found, explicit=draws.choice((0.3, 1.0)))
    if sometimes(0.3):
        # A receiver that is silent for minutes keeps a room full, and all others ask again and again.
        timeouts = (5, 20) if found.explicit else found.timeouts
        found = replace(found, control=draws.choice(_CONTROLS), timeouts=timeouts)
    if sometimes(0.1) and not quiet:
        found = replace(found, down=(draws.randrange(MINUTE), draws.choice((30, 120)) * SECOND))
    if found.control is not None:
        found = replace(found, pauses=Random(f"pauses {found!r}").choice((0.0, 0.0, 0.0, 0.2)))
    more = Random(repr(found))  # so that what is added here changes nothing else that is drawn
    found = replace(
        found,
        newer=more.choice((0.0, 0.0, 0.0, 0.0, 0.3, 0.7)),
        poison=more.choice((0, 0, 0, 0, 0, 1, 3)),
        fatal=0.0 if quiet else more.choice((0.0,) * 9 + (0.1,)),
        lost=0 if quiet else more.choice((0,) * 9 + (2,)),
        letters_rest=more.choice((0,) * 9 + (75 * MINUTE,)),
        untried=more.choice((0.0, 0.0, 0.0, 0.2)),
        rates=rates | ({} if quiet else _newest(more)),
        duplicate_key=more.random() < 0.5,
        restated=more.choice((0.0, 0.0, 0.3)),
        lag=more.choice((0,) * 9 + (11 * SECOND,)),
        operations=more.choice((0.0, 0.0, 0.0, 0.3)),
        recorded=more.choice((False, False, False, True)),
    )
    if not quiet and more.random() < _LATER_SHARE:
        return THEMES[more.choice(_LATER)](found, more)
    return found if quiet or not sometimes(0.4) else THEMES[draws.choice(_DRAWN)](found, draws)


def _newest(draws: Random) -> dict[Fault, float]:
    return {fault: draws.choice((0.02, 0.06, 0.2)) for fault in _NEWEST if draws.random() < 0.35}


def themed(draws: Random, theme: str) -> Mix:
    """As it is drawn, but of this theme."""
    return THEMES[theme](replace(drawn(draws), outage=None, zone_moves=None), draws)


def short(draws: Random, theme: str | None = None) -> Mix:
    """As it is drawn, but small, so that several such runs fit where one whole run does: a few requests within half a
    minute, the same faults and tempers and themes, and nobody waits for long. What lasts, or takes many, is left to
    whole runs: calls that are away for an hour, clocks that are far off, outages and pauses of minutes, crowds."""
    mix = drawn(draws) if theme is None else themed(draws, theme)
    outage = mix.outage and replace(
        mix.outage, start=mix.outage.start // 4, duration=min(mix.outage.duration, MINUTE)
    )
    return replace(
        mix,
        outage=outage,
        down=mix.down and (mix.down[0] // 2, min(mix.down[1], MINUTE)),
        poison=0,
        fatal=0.0,
        lost=0,
        letters_rest=0,
        skew=min(mix.skew, 5 * SECOND),
        pause=min(mix.pause, MINUTE),
        sweepers=1,
        executors=min(mix.executors, 2),
        shards=1,
        clients=draws.choice((1, 1, 1, 2)),
        requests=draws.choice((2, 2, 3, 4)),
        span=30 * SECOND,
        waits_max=draws.choice((30, 61, 61, 200)),
        planned_for=3 * MINUTE,
        ends_within=20 * SECOND,
        timeouts=tuple(min(each, 30) for each in mix.timeouts),
    )


_CONTROLS: Final = (
    Control(share=0.7, rate=1, period=5),
    Control(share=0.7, rate=3, period=10),
    Control(share=0.7, parallelism=1),
    Control(share=0.9, parallelism=2),
    Control(share=0.9, rate=2, period=4, parallelism=1),
)


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
        attempts=draws.choice((1, 3, 3)),
        timeouts=(120,),
        pause=draws.choice((20, 60)) * SECOND,
        payments=min(mix.payments, 0.5),
        changes=0.2,
        span=MINUTE,
        requests=6,
    )


def _contested_at_receivers(mix: Mix, draws: Random) -> Mix:
    """Two workers deliver one run, and its receiver has the word: one of them extends the lease that the other has."""
    return replace(_contested(mix, draws), explicit=1.0, payments=0.0)


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
        rates={Fault.PARTIAL: 0.1, Fault.ERROR: 0.08, Fault.THROTTLED: 0.08, Fault.UNREAD: 0.2},
        sticky=0.9,
        delayed=0.0,
        skew=min(mix.skew, 5 * SECOND),
        outage=draws.choice((None, Outage(service="sqs", start=20 * SECOND, duration=90 * SECOND))),
        tempers=("takes", "refuses"),
    )


def _forgotten(mix: Mix, draws: Random) -> Mix:
    """Much fails for good. It is brought back when the audits of its minute are over, and then calls vanish."""
    return replace(
        mix,
        rates={Fault.CRASH_AFTER: 0.02},
        delayed=0.0,
        outage=None,
        fatal=0.0,
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        tempers=("takes", "refuses", "refuses for good"),
        attempts=draws.choice((1, 2)),
        control=draws.choice((None, *_CONTROLS)),
        timeouts=(5, 20),
        requests=6,
        lost=3,
        letters_rest=75 * MINUTE,
        deadlines=0.2,
    )


def _moved(mix: Mix, draws: Random) -> Mix:
    """What is registered is changed, and mostly to another minute; little else goes wrong."""
    return replace(
        mix,
        rates={fault: min(rate, 0.01) for fault, rate in mix.rates.items()},
        changes=0.5,
        payments=0.5,
        recurring=0.0,
        control=None,
        down=None,
        delayed=0.0,
        outage=None,
        pause=SECOND,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes",),
        requests=8,
    )


def _quiet(mix: Mix, draws: Random) -> Mix:
    """Nothing goes wrong, so everything has to be in time."""
    return replace(
        mix,
        rates={},
        latency=min(mix.latency, 5_000),
        skew=min(mix.skew, SECOND),
        jumps=0,
        duplicates=0.0,
        deletes_lost=0.0,
        fatal=0.0,
        lost=0,
        delayed=0.0,
        outage=None,
        down=None,
        ticks=True,
        heartbeat=True,
        tempers=("takes", "refuses"),
        requests=6,
    )


def _impatient(mix: Mix, draws: Random) -> Mix:
    """Callers ask twice at once, by machines whose clocks are far apart."""
    return replace(
        mix,
        impatient=0.6,
        latency=draws.choice((5_000, 200_000)),
        skew=draws.choice((5 * SECOND, FAR_OFF)),
        outage=None,
        pause=draws.choice((SECOND, 30 * SECOND)),
        span=MINUTE,
        requests=6,
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


def _closing(mix: Mix, draws: Random) -> Mix:
    """Accounts are opened and closed while money comes in, is held and goes out."""
    return replace(
        mix,
        payments=1.0,
        money=0.7,
        restated=0.0,
        closing=0.8,
        requests=6,
        span=MINUTE,
        waits_max=draws.choice((5, 30)),
        latency=min(mix.latency, 5_000),
        outage=None,
    )


def _mutual(mix: Mix, draws: Random) -> Mix:
    """Two or three accounts pay each other more than they have, and much of it is settled late and at once."""
    return replace(
        mix,
        rates={fault: min(rate, 0.01) for fault, rate in mix.rates.items()},
        outage=Outage(service="sqs", start=5 * SECOND, duration=draws.choice((60, 90)) * SECOND),
        payments=1.0,
        money=0.02,
        unfunded=draws.choice((0.6, 0.9)),
        accounts=draws.choice((2, 3)),
        batches=0.6,
        requests=8,
        span=30 * SECOND,
        waits_max=draws.choice((5, 30)),
        executors=draws.choice((1, 2)),
        latency=min(mix.latency, 5_000),
        skew=min(mix.skew, 5 * SECOND),
        pause=SECOND,
        delayed=0.0,
    )


def _strangers(mix: Mix, draws: Random) -> Mix:
    """Many pairs of accounts pay while the queue is down: late workers then settle payments that share no account."""
    return replace(
        _mutual(mix, draws),
        accounts=draws.choice((8, 12)),
        unfunded=0.5,
        money=0.2,
        batches=0.9,
        requests=12,
        executors=1,
        rates={fault: max(rate, 0.01) for fault, rate in mix.rates.items()},
    )


def _restated(mix: Mix, draws: Random) -> Mix:
    """Accounts are set right while payments reach them and indexes are behind, some of them damaged by hand."""
    return replace(
        mix,
        rates={fault: min(rate, 0.01) for fault, rate in mix.rates.items()},
        lag=draws.choice((0, 11, 30, 60)) * SECOND,
        newer=draws.choice((0.0, 0.5)),
        newer_forms=True,
        payments=1.0,
        money=0.4,
        restated=0.7,
        accounts=draws.choice((2, 3)),
        span=2 * MINUTE,
        requests=10,
        waits_max=draws.choice((5, 30)),
        latency=min(mix.latency, 5_000),
        skew=min(mix.skew, 5 * SECOND),
        pause=SECOND,
        delayed=0.0,
        outage=None,
    )


def _timely(mix: Mix, draws: Random) -> Mix:
    """Chains of runs, many of which are slow, late, paused and changed."""
    return replace(
        mix,
        recurring=1.0,
        payments=0.0,
        control=None,
        explicit=draws.choice((0.0, 0.5)),
        skew=min(mix.skew, 5 * SECOND),
        delayed=0.0,
        requests=8,
        span=4 * MINUTE,
        tempers=("takes", "takes", "is slow", "refuses"),
        timeouts=(120,),
        down=None,
    )


def _overslept(mix: Mix, draws: Random) -> Mix:
    """Chains of runs whose calls cannot be sent for more than an hour: the audits of empty minutes go on meanwhile."""
    outage = Outage(
        service="sqs", start=draws.randrange(2 * MINUTE), duration=draws.choice((75, 100)) * MINUTE
    )
    return replace(
        mix,
        rates={},
        recurring=1.0,
        payments=0.0,
        explicit=0.0,
        control=None,
        down=None,
        outage=outage,
        ends_within=4 * HOUR,
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        delayed=0.0,
        fatal=0.0,
        clients=1,
        requests=4,
        tries=3,
        tempers=("takes",),
    )


def _cut_off(mix: Mix, draws: Random) -> Mix:
    """Workers have begun and cannot write what came of it until they are almost at their end; the retry, a quarter of
    an hour later, is then so near that the sweep has been there."""
    outage = Outage(
        service="workers",
        start=draws.randrange(10, 60) * SECOND,
        duration=draws.randrange(835, 870) * SECOND,
    )
    return replace(
        mix,
        rates={Fault.LOST: 0.001},
        payments=0.0,
        recurring=0.0,
        explicit=0.0,
        control=None,
        down=None,
        outage=outage,
        waits_max=60,
        ends_within=60 * MINUTE,
        skew=0,
        latency=min(mix.latency, 5_000),
        duplicates=0.0,
        delayed=0.0,
        fatal=0.0,
        lost=0,
        requests=10,
        span=MINUTE,
        tempers=("never answers",),
        timeouts=(30,),
        far_retries=True,
        attempts=2,
    )


def _queued(mix: Mix, draws: Random) -> Mix:
    """Recurring tasks whose runs last, wait for one another and are in nobody else's way."""
    return replace(
        _quiet(mix, draws),
        recurring=1.0,
        overlaps=("queue",),
        payments=0.0,
        explicit=draws.choice((0.5, 1.0)),
        control=None,
        tempers=("takes",),
        timeouts=(30, 120, 240),
        planned_for=9 * MINUTE,
        requests=5,
    )


def _zoned(mix: Mix, draws: Random) -> Mix:
    """The clocks of a zone are moved while tasks recur by them, and little else goes wrong."""
    return replace(
        _quiet(mix, draws),
        recurring=1.0,
        payments=0.0,
        control=None,
        tempers=("takes",),
        zone_moves=(draws.randrange(3 * MINUTE), draws.choice((-2, -1, 1, 2)) * MINUTE),
    )


def _crowded(mix: Mix, draws: Random) -> Mix:
    """More work than its key lets through at once."""
    return replace(
        mix,
        control=draws.choice(_CONTROLS),
        payments=0.0,
        recurring=0.0,
        outage=None,
        requests=10,
        batches=0.5,
        span=MINUTE,
        executors=3,
        tempers=("takes", "takes", "is slow", "refuses"),
        skew=min(mix.skew, 5 * SECOND),
    )


def _backlogged(mix: Mix, draws: Random) -> Mix:
    """More work for one key than it has places for while tasks live."""
    return replace(
        mix,
        control=Control(share=1.0, rate=1, period=draws.choice((15, 25))),
        lifetime=draws.choice((100, 200)) * SECOND,
        payments=0.0,
        recurring=draws.choice((0.0, 0.3)),
        explicit=0.0,
        down=None,
        outage=None,
        requests=8,
        batches=0.7,
        span=MINUTE,
        tempers=("takes", "refuses"),
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        delayed=0.0,
    )


def _acknowledged(mix: Mix, draws: Random) -> Mix:
    """Receivers say what became of their runs: soon, late, twice, wrongly or not at all."""
    return replace(
        mix,
        explicit=1.0,
        payments=0.0,
        recurring=0.0,
        control=draws.choice((None, mix.control)),
        duplicates=0.3,
        delayed=0.0,
        attempts=3,
        timeouts=(5, 30),
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes", "takes", "takes and resets"),
    )


def _acknowledged_in_a_room(mix: Mix, draws: Random) -> Mix:
    return replace(
        _acknowledged(_crowded(mix, draws), draws),
        control=Control(share=1.0, parallelism=draws.choice((1, 2))),
        timeouts=(5, 20),
        batches=0.0,
    )


def _broken_down(mix: Mix, draws: Random) -> Mix:
    """A destination that nobody can reach, much work for it, and nothing else in the way."""
    return replace(
        mix,
        rates={},
        outage=None,
        down=(0, draws.choice((60, 150)) * SECOND),
        latency=min(mix.latency, 5_000),
        payments=0.0,
        recurring=0.0,
        explicit=0.0,
        control=None,
        duplicates=0.0,
        delayed=0.0,
        deletes_lost=0.0,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes",),
        attempts=3,
        requests=10,
        batches=0.8,
        span=MINUTE,
    )


def _deployed(mix: Mix, draws: Random) -> Mix:
    """Code of two versions, answers that get lost, and much that is put off: what one has written the other finds."""
    return replace(
        mix,
        newer=0.5,
        newer_forms=draws.random() < 0.5,
        recurring=draws.choice((mix.recurring, 0.6)),
        rates={Fault.TIMED_OUT: 0.08, Fault.LOST: 0.08, Fault.DONE_ERROR: 0.08, Fault.ROWLESS: 0.08},
        sticky=0.9,
        control=draws.choice((None, *_CONTROLS)),
        outage=None,
        down=None,
        duplicates=0.0,
        delayed=0.0,
        fatal=0.0,
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        tempers=("takes", "refuses"),
        timeouts=(5, 20),
    )


def _overbooked(mix: Mix, draws: Random) -> Mix:
    """Workers have more to do than they have threads for, and a destination is down besides."""
    return replace(_broken_down(mix, draws), untried=draws.choice((0.2, 0.5)))


def _restored(mix: Mix, draws: Random) -> Mix:
    """Many calls wait for a destination that is down for minutes, and nothing else goes wrong."""
    mix = _quiet(_broken_down(mix, draws), draws)
    return replace(mix, skew=0, jumps=0, down=(10 * SECOND, draws.choice((90, 150)) * SECOND), requests=12)


def _kept(mix: Mix, draws: Random) -> Mix:
    """Destinations keep all workers, for up to a minute each, and everything has to be in time all the same."""
    return replace(
        _quiet(mix, draws),
        executors=draws.choice((1, 2)),
        payments=0.0,
        recurring=0.0,
        control=None,
        untried=0.0,
        tempers=("takes", "is slow", "never answers", "never answers"),
        timeouts=(30, 60),
        requests=10,
        batches=0.3,
        span=2 * MINUTE,
    )


def _kept_and_crashing(mix: Mix, draws: Random) -> Mix:
    rates = {Fault.CRASH_BEFORE: 0.02, Fault.CRASH_AFTER: 0.02, Fault.THROTTLED: 0.05, Fault.PARTIAL: 0.05}
    return replace(_kept(mix, draws), rates=rates, sticky=0.9, attempts=3)


def _rewound(mix: Mix, draws: Random) -> Mix:
    """Tables are restored while sweepers are at work, some of which stand still or cannot send meanwhile."""
    outage = Outage(
        service="sqs", start=draws.randrange(3 * MINUTE), duration=draws.choice((90, 150)) * SECOND
    )
    return replace(
        mix,
        rewinds=draws.choice((1, 1, 2)),
        rates={Fault.CRASH_AFTER: 0.02, Fault.PAUSED: draws.choice((0.0, 0.05))},
        sweepers=draws.choice((1, 2, 3)),
        pause=min(mix.pause, 2 * MINUTE),
        delayed=0.0,
        outage=draws.choice((None, outage)),
        fatal=0.0,
        lost=0,
        skew=min(mix.skew, 5 * SECOND),
        span=4 * MINUTE,
    )


def _operated(mix: Mix, draws: Random) -> Mix:
    """Much fails for good, and operations act on it while their workers die or are called twice."""
    crashes = {Fault.CRASH_BEFORE: 0.03, Fault.CRASH_AFTER: 0.06}
    paused = {Fault.PAUSED: 0.05, Fault.PAUSED_BEFORE: 0.05}
    return replace(
        mix,
        rates=draws.choice((crashes, crashes | {Fault.LOST: 0.05, Fault.ERROR: 0.05}, paused)),
        duplicates=draws.choice((0.0, 0.3)),
        delayed=0.0,
        newer_forms=False,
        pause=20 * SECOND,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes", "refuses", "refuses for good", "refuses for good"),
        attempts=draws.choice((1, 1, 2)),
        payments=min(mix.payments, 0.3),
        requests=12,
        recurring=0.0,
        control=None,
        explicit=0.0,
        operations=0.5,
    )


def _followed(mix: Mix, draws: Random) -> Mix:
    """Changes are recorded by workers that die, pause and have one batch twice, and callers follow the feed."""
    crashes = {Fault.CRASH_BEFORE: 0.03, Fault.CRASH_AFTER: 0.06}
    lost = {Fault.LOST: 0.05, Fault.ERROR: 0.05, Fault.PARTIAL: 0.05}
    paused = {Fault.PAUSED: 0.05, Fault.PAUSED_BEFORE: 0.05}
    return replace(
        mix,
        rates=draws.choice((crashes, crashes | lost, lost | paused)),
        duplicates=0.3,
        newer_forms=False,
        pause=20 * SECOND,
        recorded=True,
    )


def _paused(mix: Mix, draws: Random) -> Mix:
    """The key of all tasks is paused for a while, now and then, and nothing else goes wrong."""
    crowded = _crowded(_quiet(mix, draws), draws)
    control = replace(crowded.control or _CONTROLS[0], share=1.0)
    return replace(crowded, control=control, pauses=0.4, explicit=0.0, tempers=("takes", "refuses"))


THEMES: Final = {
    "deployed": _deployed,
    "contested": _contested,
    "contested at receivers": _contested_at_receivers,
    "deadly": _deadly,
    "deaf": _deaf,
    "forsaken": _forsaken,
    "forgotten": _forgotten,
    "moved": _moved,
    "quiet": _quiet,
    "impatient": _impatient,
    "frozen": _frozen,
    "mutual": _mutual,
    "strangers": _strangers,
    "restated": _restated,
    "timely": _timely,
    "overslept": _overslept,
    "cut off": _cut_off,
    "queued": _queued,
    "zoned": _zoned,
    "crowded": _crowded,
    "backlogged": _backlogged,
    "acknowledged": _acknowledged,
    "acknowledged in a room": _acknowledged_in_a_room,
    "broken down": _broken_down,
    "overbooked": _overbooked,
    "restored": _restored,
    "kept": _kept,
    "kept and crashing": _kept_and_crashing,
    "rewound": _rewound,
    "closing": _closing,
    "paused": _paused,
    "operated": _operated,
    "followed": _followed,
}
# Themes that came later are drawn apart from the others, so that they change few runs of earlier seeds. `queued` is
# among them once more, because a full queue is rare in runs of all other sorts.
_LATER: Final = ("paused", "operated", "followed", "strangers", "contested at receivers", "queued")
_LATER_SHARE: Final = 0.12
_DRAWN: Final = [theme for theme in THEMES if theme not in _LATER or theme == "queued"]
