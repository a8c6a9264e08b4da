from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    keys_table: str
    data_keys_table: str
    secrets_key_id: str
    oidc: str
