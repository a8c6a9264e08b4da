from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `sweep`."""

    # The table of tasks and recurring tasks.
    items_table: str
    # The table of payments.
    payments_table: str
    # The table of finished passes, of the watermark and of the heartbeat.
    slots_table: str
    # The table of what operators have stopped.
    switches_table: str
    # The table of operations and their items, and of reconciliations.
    operations_table: str
    # The state machine that carries out operations.
    operation_machine_arn: str
    # The queue of calls for tasks.
    tasks_queue_url: str
    # The queue of calls for payments.
    payments_queue_url: str
    # The queue of wake-ups and of passes for other workers.
    ticks_queue_url: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of shards that one worker sweeps together.
    shards_per_group: int
    # The profile of the parameters in AppConfig, or `none`.
    parameters: str
    # The time between two heartbeats.
    tick_seconds: int
    # The time before a minute's beginning at which the sweeper opens it.
    open_lead_seconds: int
    # The time before the lead in which a writer sends the call itself.
    open_margin_seconds: int
