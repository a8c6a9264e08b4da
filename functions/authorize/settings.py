from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment of the function `authorize`."""

    # The table of API keys.
    keys_table: str
    # The table of the data keys of tenants, sealed by KMS.
    data_keys_table: str
    # The KMS key that seals the data keys.
    secrets_key_id: str
    # The OpenID Connect issuer whose people may sign in, as JSON, or `none`.
    oidc: str
