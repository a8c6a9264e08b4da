"""How every table is spoken to: short waits and a few tries, because pynamodb's own defaults wait half a minute."""


class Connection:
    """The base of each model's Meta."""

    connect_timeout_seconds = 2
    read_timeout_seconds = 3
    max_retry_attempts = 4
    max_pool_connections = 32
