from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    payments_table: str
    accounts_table: str
    journal_table: str
    payments_queue_url: str
    payments_dlq_url: str
    shard_plan: str
    listing_shards: int
    lease_seconds: int
    payment_attempts_max: int
    payment_retry_seconds: int
    payment_retry_max_seconds: int
