from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    payments_table: str
    items_table: str
    accounts_table: str
    keys_table: str
    tenants_table: str
    flow_table: str
    operations_table: str
    switches_table: str
    events_table: str
    events_dlq_url: str
    events_kept_days: int
    events_bus: str
    subscriptions_table: str
    slots_table: str
    tasks_queue_url: str
    shard_plan: str
    listing_shards: int
    retention_days: int
    # The place of the parameters in AppConfig, or `none`.
    parameters: str
