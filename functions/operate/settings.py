from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    operations_table: str
    operation_machine_arn: str
    items_table: str
    payments_table: str
    accounts_table: str
    journal_table: str
    payloads_table: str
    slots_table: str
    tasks_queue_url: str
    payments_queue_url: str
    tasks_dlq_url: str
    payments_dlq_url: str
    shard_plan: str
    shards_per_group: int
    listing_shards: int
    retention_days: int
    open_lead_seconds: int
    open_margin_seconds: int
    # The place of the parameters in AppConfig, or `none`.
    parameters: str
