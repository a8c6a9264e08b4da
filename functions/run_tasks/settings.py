from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    items_table: str
    payloads_table: str
    tenants_table: str
    tasks_queue_url: str
    tasks_dlq_url: str
    shard_plan: str
    listing_shards: int
    lease_seconds: int
    retention_days: int
    loopback_destinations: bool
