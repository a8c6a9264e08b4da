from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `erase`."""

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
    # The table of idempotency keys.
    idempotency_table: str
    # The table of the settings of tenants.
    tenants_table: str
    # The table of API keys.
    keys_table: str
    # The table of the data keys of tenants, sealed by KMS.
    data_keys_table: str
    # The table of passes, walks and counts of the service.
    slots_table: str
    # The table of places, rooms, flow keys and breakers.
    flow_table: str
    # The table of events and of the feeds that list them.
    events_table: str
    # The table of operations and their items, and of reconciliations.
    operations_table: str
    # The table of what operators have stopped.
    switches_table: str
    # The table of subscriptions.
    subscriptions_table: str
    # The dead letters of tasks.
    tasks_dlq_url: str
    # The dead letters of payments.
    payments_dlq_url: str
    # The bucket of the reports and working papers of reconciliations.
    reports_bucket: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
    # The wait until no request of the tenant is under way any more.
    erasure_drain_seconds: int
    # The wait until the streams of the tables have forgotten the tenant.
    erasure_streams_seconds: int
    # The wait until no copy of a function remembers the tenant.
    erasure_forgotten_seconds: int
