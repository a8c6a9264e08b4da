"""The differences between environments, in one place. The defaults are those of AWS.

The stacks are the same everywhere: an environment is a row of values, and nothing else asks which one it is.
"""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from postdate.domain.slots import ShardPlan

# Tables whose rows stay until a person removes them.
NEVER_EXPIRE: Final = frozenset({"accounts", "journal", "tenants", "data_keys", "switches"})


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


# The stack on this machine: its own architecture, plain HTTP on the loopback interface, small numbers.
LOCAL: Final = Environment(
    name="local",
    settings=Settings(
        shard_plan="0=4",
        listing_shards=2,
        tick_seconds=10,
        erasure_drain_seconds=10,
        erasure_streams_seconds=10,
        erasure_forgotten_seconds=2,
        open_lead_seconds=20,
        open_margin_seconds=10,
        lease_seconds=20,
        loopback_destinations=True,
        task_workers=16,
        waiting_requests=6,
    ),
    functions={
        "api": Size(memory_mb=512, timeout_seconds=29),
        "authorize": Size(memory_mb=256, timeout_seconds=10),
        "sweep": Size(memory_mb=512, timeout_seconds=300, consumers=4),
        "run_tasks": Size(memory_mb=512, timeout_seconds=900, consumers=12, slow_consumers=4),
        # Short, because it is also the time after which a dead worker's payments come back: a batch waits 3 s for
        # its instants and needs a few more for its conflicts.
        "settle": Size(memory_mb=512, timeout_seconds=60, consumers=12),
        "record": Size(memory_mb=512, timeout_seconds=60, streams=9),
        "operate": Size(memory_mb=512, timeout_seconds=60),
        "reconcile": Size(memory_mb=512, timeout_seconds=300),
        "archive": Size(memory_mb=512, timeout_seconds=300),
        "erase": Size(memory_mb=512, timeout_seconds=300),
    },
    throttle=None,
    log_retention_days=1,
    objects_kept_days=1,
    destinations=("postdate-local-destination*",),
    platform="local",
    architecture="arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64",
    tls_only=False,
    rollout=Rollout(minutes=0, step_percent=100, watched_minutes=0),
    # The local engine evaluates neither math nor composite alarms, so the local stack has none.
    watched=False,
    engine=Engine(
        also={
            "sqs:SendMessage": "sqs:SendMessageBatch",
            "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
            "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
        },
        unscoped={
            "dynamodb:PartiQLUpdate": ("dynamodb:BatchExecuteStatement",),
            "dynamodb:PartiQLInsert": ("dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction"),
        },
        by_operation=True,
        tells_contexts=False,
    ),
)

# A new account may run 10 functions at once. The queues keep 6 of them busy, so that 4 are left for requests.
DEV: Final = Environment(
    name="dev",
    settings=Settings(shard_plan="0=8", listing_shards=2, slow_lane=False, task_workers=2),
    functions={
        "api": Size(memory_mb=1024, timeout_seconds=29),
        "authorize": Size(memory_mb=512, timeout_seconds=10),
        "sweep": Size(memory_mb=1024, timeout_seconds=300, consumers=2),
        "run_tasks": Size(memory_mb=1024, timeout_seconds=900, consumers=2),
        "settle": Size(memory_mb=1024, timeout_seconds=60, consumers=2),
        "record": Size(memory_mb=1024, timeout_seconds=60, streams=9),
        "operate": Size(memory_mb=1024, timeout_seconds=60),
        "reconcile": Size(memory_mb=1024, timeout_seconds=300),
        "archive": Size(memory_mb=1024, timeout_seconds=300),
        "erase": Size(memory_mb=1024, timeout_seconds=300),
    },
    throttle=Throttle(requests_per_second=100, burst=200),
    log_retention_days=7,
    objects_kept_days=30,
)

STAGING: Final = Environment(
    name="staging",
    settings=Settings(shard_plan="0=32", listing_shards=8, task_workers=100, waiting_requests=12),
    functions={
        "api": Size(memory_mb=1024, timeout_seconds=29, reserved=50),
        "authorize": Size(memory_mb=512, timeout_seconds=10, reserved=50),
        "sweep": Size(memory_mb=1024, timeout_seconds=300, reserved=8, consumers=8),
        "run_tasks": Size(memory_mb=1024, timeout_seconds=900, reserved=100, consumers=90, slow_consumers=10),
        "settle": Size(memory_mb=1024, timeout_seconds=60, reserved=100, consumers=100),
        "record": Size(memory_mb=1024, timeout_seconds=60, streams=9),
        "operate": Size(memory_mb=1024, timeout_seconds=60),
        "reconcile": Size(memory_mb=1024, timeout_seconds=300),
        "archive": Size(memory_mb=1024, timeout_seconds=300),
        "erase": Size(memory_mb=1024, timeout_seconds=300),
    },
    throttle=Throttle(requests_per_second=500, burst=1000),
    log_retention_days=30,
    objects_kept_days=90,
)

# The reservations leave 100 of an account's first 1,000 concurrent executions free, as Lambda demands.
PROD: Final = Environment(
    name="prod",
    settings=Settings(
        shard_plan="0=128", shards_per_group=32, listing_shards=16, task_workers=200, waiting_requests=40
    ),
    functions={
        "api": Size(memory_mb=1769, timeout_seconds=29, reserved=150),
        "authorize": Size(memory_mb=512, timeout_seconds=10, reserved=118),
        "sweep": Size(memory_mb=1769, timeout_seconds=300, reserved=32, consumers=32),
        "run_tasks": Size(
            memory_mb=1024, timeout_seconds=900, reserved=200, consumers=180, slow_consumers=20
        ),
        "settle": Size(memory_mb=1024, timeout_seconds=60, reserved=400, consumers=400),
        "record": Size(memory_mb=1024, timeout_seconds=60, streams=9),
        "operate": Size(memory_mb=1024, timeout_seconds=60),
        "reconcile": Size(memory_mb=1024, timeout_seconds=300),
        "archive": Size(memory_mb=1024, timeout_seconds=300),
        "erase": Size(memory_mb=1024, timeout_seconds=300),
    },
    throttle=Throttle(requests_per_second=2000, burst=4000),
    log_retention_days=90,
    keeps_data=True,
    # Half a million tasks in one minute (docs/capacity.md). The deployment asks for the quota of the table first.
    warm_writes={"items": 100_000, "items/by_tenant": 10_000},
)

ENVIRONMENTS: Final = {each.name: each for each in (LOCAL, DEV, STAGING, PROD)}
