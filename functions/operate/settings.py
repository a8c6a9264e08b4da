from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `operate`."""

    # The table of operations and their items, and of reconciliations.
    operations_table: str
    # The state machine that carries out operations.
    operation_machine_arn: str
    # The table of tasks and recurring tasks.
    items_table: str
    # The table of payments.
    payments_table: str
    # The table of accounts.
    accounts_table: str
    # The table of movements.
    journal_table: str
    # The table of payloads that are too large for their task.
    payloads_table: str
    # The table of finished passes, which a recovery sets back.
    slots_table: str
    # The queue of calls for tasks.
    tasks_queue_url: str
    # The queue of calls for payments.
    payments_queue_url: str
    # The dead letters of tasks.
    tasks_dlq_url: str
    # The dead letters of payments.
    payments_dlq_url: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of shards that one worker sweeps together.
    shards_per_group: int
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
    # The age at which ended tasks expire.
    retention_days: int
    # The time before a minute's beginning at which the sweeper opens it.
    open_lead_seconds: int
    # The time before the lead in which a writer sends the call itself.
    open_margin_seconds: int
    # The profile of the parameters in AppConfig, or `none`.
    parameters: str
