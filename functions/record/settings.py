from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `record`."""

    # The table of payments.
    payments_table: str
    # The table of tasks and recurring tasks.
    items_table: str
    # The table of accounts.
    accounts_table: str
    # The table of API keys.
    keys_table: str
    # The table of the settings of tenants.
    tenants_table: str
    # The table of flow keys and breakers, whose changes are events as well.
    flow_table: str
    # The table of operations and their items, and of reconciliations.
    operations_table: str
    # The table of what operators have stopped.
    switches_table: str
    # The table of events and of the feeds that list them.
    events_table: str
    # The letters of changes that could not be recorded.
    events_dlq_url: str
    # The age at which events expire.
    events_kept_days: int
    # The bus that events are published on as well; empty for none.
    events_bus: str
    # The table of subscriptions.
    subscriptions_table: str
    # The table in which events are counted for the operators' calendar.
    slots_table: str
    # The queue of calls for tasks.
    tasks_queue_url: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
    # The age at which ended tasks expire.
    retention_days: int
    # The profile of the parameters in AppConfig, or `none`.
    parameters: str
