from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    items_table: str
    payments_table: str
    payloads_table: str
    idempotency_table: str
    tenants_table: str
    keys_table: str
    accounts_table: str
    journal_table: str
    flow_table: str
    payloads_bucket: str
    tasks_queue_url: str
    payments_queue_url: str
    shard_plan: str
    listing_shards: int
    open_lead_seconds: int
    open_margin_seconds: int
    retention_days: int
    loopback_destinations: bool
    response_timeout_seconds_max: int
    account_amount_cap: int
