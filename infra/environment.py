"""An environment of Postdate as a value: the sizes and settings in which environments differ."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from postdate.domain.slots import ShardPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings of the functions, by their names; `shard_plan` is `<from minute>=<shards>,...`.

    A finished task outlives its Idempotency-Key (30 days), so that a key never stands for a task that is gone.
    """

    shard_plan: str
    shards_per_group: int = 16
    listing_shards: int
    tick_seconds: int = 60
    open_lead_seconds: int = 120
    open_margin_seconds: int = 60
    lease_seconds: int = 40
    retention_days: int = 35
    payment_attempts_max: int = 20
    payment_retry_seconds: int = 2
    payment_retry_max_seconds: int = 300
    loopback_destinations: bool = False
    response_timeout_seconds_max: int = 60
    slow_lane: bool = True
    # All workers of tasks, those of the slow lane included: the sum of the consumers of `run_tasks`.
    task_workers: int
    account_amount_cap: int = 1_000_000_000
    events_kept_days: int = 400
    # Finished payments; the least is KEPT_MIN in postdate/domain/retention.py.
    payments_kept_days: int = 400
    # The waits of an erasure: until no registration is under way, until the streams have forgotten the tenant, and
    # until no function has its name in hand.
    erasure_drain_seconds: int = 120
    erasure_streams_seconds: int = 90_000
    erasure_forgotten_seconds: int = 1_200
    # Requests of the feed that may wait for long; each holds a copy of `api` meanwhile.
    waiting_requests: int = 2
    # The OpenID Connect issuer whose people may sign in, as JSON with the fields of `Oidc` (runtime/issuer.py).
    oidc: str = "none"

    def variables(self) -> dict[str, str]:
        return {
            name.upper(): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """The size of one function. `reserved` concurrency is its own and its limit; `consumers` is how many of it its
    queue may keep busy, 0 when it reads none, and `slow_consumers` how many the lane for slow destinations may.
    `streams` is how many streams of tables it follows, each shard with one copy at a time.

    A mapping takes up to `batch` messages at once. Above 10 it gathers them for `window_seconds`. `pollers` stay
    provisioned for the function's queue, each for ten consumers; 0 leaves the pollers to Lambda."""

    memory_mb: int
    timeout_seconds: int
    reserved: int | None = None
    consumers: int = 0
    slow_consumers: int = 0
    streams: int = 0
    batch: int = 10
    window_seconds: int = 0
    pollers: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Throttle:
    requests_per_second: int
    burst: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollout:
    """The pace at which a changed document of parameters reaches the copies of functions: by steps of so many percent
    over so many minutes. An alarm within `watched_minutes` after the last step takes the document back."""

    minutes: int = 10
    step_percent: int = 20
    watched_minutes: int = 10

    def at_once(self) -> "Rollout":
        return Rollout(minutes=0, step_percent=100, watched_minutes=self.watched_minutes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """The calls that an engine checks under another name than IAM does: on the same resource, or without a resource.
    With `by_operation` it checks calls to destinations by the names of their operations. `tells_contexts` is false if
    it evaluates no condition on the context of a data key in KMS."""

    also: Mapping[str, str] = field(default_factory=dict)
    unscoped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_operation: bool = False
    tells_contexts: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    name: str
    settings: Settings
    functions: Mapping[str, Size]
    throttle: Throttle | None
    log_retention_days: int
    traced: frozenset[str] = frozenset({"api"})
    keeps_data: bool = False
    watched: bool = True
    objects_kept_days: int | None = None
    destinations: tuple[str, ...] = ("postdate-destination-*",)
    platform: str = "linux-arm64"
    architecture: str = "arm64"
    tls_only: bool = True
    rollout: Rollout = Rollout()
    engine: Engine = Engine()
    # Write units a second that a new table, or `<table>/<index>`, accepts at once, where AWS's 4,000 are too few.
    warm_writes: Mapping[str, int] = field(default_factory=dict)
    # A service outside of AWS that calls a person when it gets no signal for a while; none without an address.
    heartbeat_url: str | None = None
    # Tables that were restored, by the names of those whose place they take: {"items": "postdate-prod-items-2"}.
    restored: Mapping[str, str] = field(default_factory=dict)

    def named(self, name: str) -> str:
        return f"postdate-{self.name}-{name.replace('_', '-')}"

    @property
    def concurrency_quota(self) -> int:
        """The concurrent executions that the account has at least: a new one has 10, and with reservations Lambda
        leaves 100 to all other functions."""
        reserved = sum(size.reserved or 0 for size in self.functions.values())
        return reserved + 100 if reserved else 10

    @property
    def shards(self) -> int:
        """The shards of a minute by the last step of the plan."""
        return ShardPlan.parse(self.settings.shard_plan).counts[-1]

    def table(self, name: str) -> str:
        """The table that is read and written under this name."""
        return self.restored.get(name, self.named(name))
