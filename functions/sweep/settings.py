from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    items_table: str
    payments_table: str
    slots_table: str
    tasks_queue_url: str
    payments_queue_url: str
    ticks_queue_url: str
    shard_plan: str
    shards_per_group: int
    tick_seconds: int
    open_lead_seconds: int
    open_margin_seconds: int
