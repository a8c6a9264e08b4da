from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `archive`."""

    # The table of the settings of tenants.
    tenants_table: str
    # The table of events and of the feeds that list them.
    events_table: str
    # The table of the data keys of tenants, sealed by KMS.
    data_keys_table: str
    # The KMS key that seals the data keys.
    secrets_key_id: str
    # The bucket of archived events and payments, which nobody can change.
    archive_bucket: str
    # The bucket of the reports and working papers of reconciliations.
    reports_bucket: str
    # The age at which events expire.
    events_kept_days: int
    # The table of payments.
    payments_table: str
    # The table of movements.
    journal_table: str
    # The table in which the walk over payments notes its place.
    slots_table: str
    # The age at which the rows of archived payments expire.
    payments_kept_days: int
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
