from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `api`."""

    # The table of tasks and recurring tasks.
    items_table: str
    # The table of payments.
    payments_table: str
    # The table of payloads that are too large for their task.
    payloads_table: str
    # The table of idempotency keys.
    idempotency_table: str
    # The table of the settings of tenants.
    tenants_table: str
    # The table of the data keys of tenants, sealed by KMS.
    data_keys_table: str
    # The KMS key that seals the data keys.
    secrets_key_id: str
    # The OpenID Connect issuer whose people may sign in, as JSON, or `none`.
    oidc: str
    # The table of API keys.
    keys_table: str
    # The table of accounts.
    accounts_table: str
    # The table of movements.
    journal_table: str
    # The table of places, rooms, flow keys, breakers, and counts against quotas.
    flow_table: str
    # The table of finished passes, of the watermark and of the heartbeat.
    slots_table: str
    # The table of what operators have stopped.
    switches_table: str
    # The table of events and of the feeds that list them.
    events_table: str
    # The table of subscriptions.
    subscriptions_table: str
    # The table of operations and their items, and of reconciliations.
    operations_table: str
    # The state machine that carries out operations.
    operation_machine_arn: str
    # The state machine that erases a tenant.
    erase_machine_arn: str
    # The function that counts an erasure.
    erase_function: str
    # The beginning of the names of this environment's alarms.
    alarm_prefix: str
    # The bucket of payloads that tenants keep themselves.
    payloads_bucket: str
    # The bucket of archived events and payments, which nobody can change.
    archive_bucket: str
    # The queue of calls for tasks.
    tasks_queue_url: str
    # The queue of calls for payments.
    payments_queue_url: str
    # The queue of calls to slow destinations.
    slow_queue_url: str
    # The queue of wake-ups and of passes for other workers.
    ticks_queue_url: str
    # The dead letters of tasks.
    tasks_dlq_url: str
    # The dead letters of payments.
    payments_dlq_url: str
    # The dead letters of the sweep.
    ticks_dlq_url: str
    # The queue of records of streams that could not be recorded.
    events_dlq_url: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of shards that one worker sweeps together.
    shards_per_group: int
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
    # The time between two heartbeats.
    tick_seconds: int
    # The time before a minute's beginning at which the sweeper opens it.
    open_lead_seconds: int
    # The time before the lead in which a writer sends the call itself.
    open_margin_seconds: int
    # The age at which ended tasks expire.
    retention_days: int
    # True if webhooks may call loopback, as on the local stack.
    loopback_destinations: bool
    # The longest timeout of a task whose answer is its outcome; explicit acknowledgements may take longer.
    response_timeout_seconds_max: int
    # The greatest `amount_max` that an administrator may give an account.
    account_amount_cap: int
    # The greatest number of workers at once. It divides the deliveries that a tenant may have in flight.
    task_workers: int
    # The age at which events expire.
    events_kept_days: int
    # The number of requests of the feed that may wait for long at once.
    waiting_requests: int
    # The profile of the parameters in AppConfig, or `none`.
    parameters: str
