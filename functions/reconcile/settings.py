from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `reconcile`."""

    # The table of tasks and recurring tasks.
    items_table: str
    # The table of payments.
    payments_table: str
    # The table of accounts.
    accounts_table: str
    # The table of movements.
    journal_table: str
    # The table of the settings of tenants.
    tenants_table: str
    # The table of operations and their items, and of reconciliations.
    operations_table: str
    # The dead letters of tasks.
    tasks_dlq_url: str
    # The dead letters of payments.
    payments_dlq_url: str
    # The bucket of the reports and working papers of reconciliations.
    reports_bucket: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
    # The age at which ended tasks expire.
    retention_days: int
    # The profile of the parameters in AppConfig, or `none`.
    parameters: str
