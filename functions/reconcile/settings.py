from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    items_table: str
    payments_table: str
    accounts_table: str
    journal_table: str
    tenants_table: str
    operations_table: str
    tasks_dlq_url: str
    payments_dlq_url: str
    reports_bucket: str
    shard_plan: str
    listing_shards: int
    retention_days: int
    # The place of the parameters in AppConfig, or `none`.
    parameters: str
