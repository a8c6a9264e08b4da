"""The differences between environments, in one place. The defaults are those of AWS.

The stacks are the same everywhere: an environment is a row of values, and nothing else asks which one it is.
"""

import platform
from typing import Final

from infra.environment import Engine, Environment, Rollout, Settings, Size, Throttle

# Tables whose rows stay until a person removes them.
NEVER_EXPIRE: Final = frozenset({"accounts", "journal", "tenants", "data_keys", "switches"})

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
