from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    items_table: str
    payments_table: str
    payloads_table: str
    idempotency_table: str
    tenants_table: str
    data_keys_table: str
    secrets_key_id: str
    oidc: str
    keys_table: str
    accounts_table: str
    journal_table: str
    flow_table: str
    slots_table: str
    switches_table: str
    events_table: str
    subscriptions_table: str
    operations_table: str
    operation_machine_arn: str
    erase_machine_arn: str
    alarm_prefix: str
    payloads_bucket: str
    archive_bucket: str
    tasks_queue_url: str
    payments_queue_url: str
    slow_queue_url: str
    ticks_queue_url: str
    tasks_dlq_url: str
    payments_dlq_url: str
    ticks_dlq_url: str
    shard_plan: str
    shards_per_group: int
    listing_shards: int
    tick_seconds: int
    open_lead_seconds: int
    open_margin_seconds: int
    retention_days: int
    loopback_destinations: bool
    response_timeout_seconds_max: int
    account_amount_cap: int
    task_workers: int
    events_kept_days: int
    waiting_requests: int
    parameters: str
