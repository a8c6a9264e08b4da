from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `run_tasks`."""

    # The table of tasks and recurring tasks.
    items_table: str
    # The table of places, rooms, flow keys and breakers.
    flow_table: str
    # The table of payloads that are too large for their task.
    payloads_table: str
    # The bucket of payloads that tenants keep themselves.
    payloads_bucket: str
    # The role by which that bucket is read, limited to one tenant's prefix.
    payloads_role_arn: str
    # The table of the settings of tenants.
    tenants_table: str
    # The table of the data keys of tenants, sealed by KMS.
    data_keys_table: str
    # The KMS key that seals the data keys.
    secrets_key_id: str
    # The table of events, read for deliveries to subscriptions.
    events_table: str
    # The age at which events expire.
    events_kept_days: int
    # The table of subscriptions.
    subscriptions_table: str
    # The table of what operators have stopped.
    switches_table: str
    # The queue of calls for tasks.
    tasks_queue_url: str
    # The queue of calls to slow destinations.
    slow_queue_url: str
    # The dead-letter queue.
    tasks_dlq_url: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
    # The time before a minute's beginning at which the sweeper opens it.
    open_lead_seconds: int
    # The time before the lead in which a writer sends the call itself.
    open_margin_seconds: int
    # The time for which a claim, or a message, belongs to its worker.
    lease_seconds: int
    # The age at which ended tasks expire.
    retention_days: int
    # True if webhooks may call loopback, as on the local stack.
    loopback_destinations: bool
    # The longest wait for the answer to a delivery with explicit acknowledgement.
    response_timeout_seconds_max: int
    # True if calls to slow destinations have a queue and workers of their own.
    slow_lane: bool
    # The greatest number of workers at once. It divides the deliveries that a tenant may have in flight.
    task_workers: int
    # The profile of the parameters in AppConfig, or `none`.
    parameters: str
