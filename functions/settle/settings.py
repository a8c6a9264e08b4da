from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `settle`."""

    # The table of payments.
    payments_table: str
    # The table of accounts.
    accounts_table: str
    # The table of movements.
    journal_table: str
    # The table in which failing dependencies are noted.
    flow_table: str
    # The table of what operators have stopped.
    switches_table: str
    # The queue of calls for payments.
    payments_queue_url: str
    # The dead-letter queue.
    payments_dlq_url: str
    # The number of shards of a minute, by the minute from which it applies: `0=8,29900000=32`.
    shard_plan: str
    # The number of index keys that the list of one tenant is spread over.
    listing_shards: int
    # The time for which a claim, or a message, belongs to its worker.
    lease_seconds: int
    # The number of attempts before a payment is parked.
    payment_attempts_max: int
    # The first delay after an attempt that did not commit.
    payment_retry_seconds: int
    # The greatest delay between attempts.
    payment_retry_max_seconds: int
    # The profile of the parameters in AppConfig, or `none`.
    parameters: str
