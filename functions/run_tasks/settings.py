from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    items_table: str
    flow_table: str
    payloads_table: str
    payloads_bucket: str
    payloads_role_arn: str
    tenants_table: str
    data_keys_table: str
    secrets_key_id: str
    events_table: str
    events_kept_days: int
    subscriptions_table: str
    tasks_queue_url: str
    slow_queue_url: str
    tasks_dlq_url: str
    shard_plan: str
    listing_shards: int
    open_lead_seconds: int
    open_margin_seconds: int
    lease_seconds: int
    retention_days: int
    loopback_destinations: bool
    response_timeout_seconds_max: int
    slow_lane: bool
    task_workers: int
