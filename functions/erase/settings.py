from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    items_table: str
    payments_table: str
    accounts_table: str
    journal_table: str
    payloads_table: str
    idempotency_table: str
    tenants_table: str
    keys_table: str
    data_keys_table: str
    slots_table: str
    flow_table: str
    events_table: str
    operations_table: str
    switches_table: str
    subscriptions_table: str
    tasks_dlq_url: str
    payments_dlq_url: str
    reports_bucket: str
    shard_plan: str
    listing_shards: int
    erasure_drain_seconds: int
    erasure_streams_seconds: int
    erasure_forgotten_seconds: int
