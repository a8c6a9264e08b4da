"""The faults of one run and their frequency: drawn from the seed, so that each run is bad in its own way.

A run with every fault at once would hide what only shows when most things work: each kind is there in about a third of
the runs.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from tests.simulation.hub import SECOND

SHARDS_PER_GROUP: Final = 2
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
# Two clocks may differ by almost an hour, no more: a minute is audited an hour after its end, and what a clock that is
# further behind puts into it after that, and whose call is lost besides, nobody looks for.
FAR_OFF: Final = 29 * MINUTE


class Fault(StrEnum):
    """The faults that one call to AWS may meet."""

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


# Outages of which the messages of calls come back by themselves, however long they last.
_OF_WORKERS: Final = frozenset({"workers", "executors"})
CRASHES: Final = frozenset({Fault.CRASH_BEFORE, Fault.CRASH_AFTER})


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """A service that answers nothing for a while, from `start` on after the run began; `conflicts` are
    accounts that everybody writes to: each transaction that moves money is refused. With `workers` those who run tasks
    are cut off from DynamoDB, and nobody else is, with `executors` also those who settle; with `writes` they can read
    and write no statement; with `keys` only the table of keys is out, with `sweep` only the table of payments, and only
    for the sweep, with `lists` only the indexes, with `switches` only that table, and only for those who settle.
    With `secrets` those who run tasks cannot ask KMS, with `callers` the API cannot send calls, and with `reads` the
    keys of a BatchGetItem are left unread."""

    service: str
    start: int
    duration: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """The limits of the key of a tenant's tasks; each task has one `share` of the time."""

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
    that of requests about operations, `stalled` that of steps in which the execution of an operation ends,
    `restricted` that of requests under keys with restrictions, `lag` how far all
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
    often a restore takes all calls and the watermark is put back. Callers change plans
    while runs last in the ways that are `replanned`, and `slow_writes` is the share of the batches of statements at
    which a worker stands still, `slow_claims` that of the claims of runs that have waited for others, and `slow_starts`
    that of all other claims. What is registered as a batch may be due `at_one_instant`. `loops` is the share of
    deliveries whose receivers register another task, `quota` the registrations a second of each tenant, `stored`
    its stored tasks and `in_flight` its deliveries in flight at one worker; 0 is the usual number. With
    `breakers` each copy of a function has breakers of its dependencies. `owners` is the share of requests about
    tenants, keys and accounts: their streams are recorded then, and those of switches, and events go to the bus.
    `killed` is the share of events of `settle` over which the worker is lost, once for each message. After a run whose
    payments are `retained` the archive takes them, and after one that is `erased` a tenant leaves."""

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
    stalled: float = field(default=0.0, repr=False)
    restricted: float = field(default=0.0, repr=False)
    recorded: bool = field(default=False, repr=False)
    switched: bool = field(default=False, repr=False)
    replanned: tuple[str, ...] = field(default=(), repr=False)
    slow_writes: float = field(default=0.0, repr=False)
    slow_claims: float = field(default=0.0, repr=False)
    slow_starts: float = field(default=0.0, repr=False)
    at_one_instant: bool = field(default=False, repr=False)
    loops: float = field(default=0.0, repr=False)
    quota: int = field(default=0, repr=False)
    stored: int = field(default=0, repr=False)
    in_flight: int = field(default=0, repr=False)
    breakers: bool = field(default=False, repr=False)
    owners: float = field(default=0.0, repr=False)
    killed: float = field(default=0.0, repr=False)
    retained: bool = field(default=False, repr=False)
    erased: bool = field(default=False, repr=False)

    @property
    def is_at_once(self) -> bool:
        """True if a decision is written within seconds."""
        pauses = {Fault.PAUSED, Fault.PAUSED_BEFORE} & self.rates.keys()
        return not pauses and self.outage is None and self.latency <= 5_000

    @property
    def commits_within_minutes(self) -> bool:
        """True if a commit is at most minutes old by the clock of its reader."""
        pauses = {Fault.PAUSED, Fault.PAUSED_BEFORE} & self.rates.keys()
        return self.skew <= 5 * SECOND and (not pauses or self.pause <= 2 * MINUTE)

    @property
    def loses_answers(self) -> bool:
        """True if an answer may be lost after the work was done; the caller asks again, if it can."""
        lost = {Fault.LOST, Fault.DONE_ERROR, Fault.TIMED_OUT, Fault.ROWLESS}
        return bool(lost & self.rates.keys())

    @property
    def is_faultless(self) -> bool:
        return self.is_at_once and not self.rates and self.skew <= 5 * SECOND

    @property
    def is_quiet(self) -> bool:
        """True if nothing is lost, late or wrong but destinations, which keep no worker from other work."""
        wrong = (
            *(self.rates, self.outage, self.fatal, self.duplicates, self.deletes_lost, self.delayed),
            self.lost,
            self.rewinds,
        )
        wakes = self.ticks and self.heartbeat and self.skew <= 5 * SECOND and not self.newer_forms
        return wakes and not any(wrong)

    @property
    def leaves_calls_alone(self) -> bool:
        """True if no call is away for as long as an audit waits, whatever dies."""
        if self.fatal or self.lost or self.newer_forms:
            return False
        short = (
            self.outage is None or self.outage.duration <= 3 * MINUTE or self.outage.service in _OF_WORKERS
        )
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
            stalled=0.0,
            untried=0.0,
            slow_writes=0.0,
            slow_claims=0.0,
            slow_starts=0.0,
            loops=0.0,
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
