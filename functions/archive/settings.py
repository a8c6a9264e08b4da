from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    tenants_table: str
    events_table: str
    data_keys_table: str
    secrets_key_id: str
    archive_bucket: str
    reports_bucket: str
    events_kept_days: int
    payments_table: str
    journal_table: str
    slots_table: str
    payments_kept_days: int
    shard_plan: str
    listing_shards: int
