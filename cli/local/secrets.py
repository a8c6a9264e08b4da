"""The keys and secrets of a local stack, for commands and tests that speak to it."""

from collections.abc import Mapping
from functools import partial

from cli import tenants
from cli.local import aws
from infra.environments import LOCAL
from postdate.stores.vault import Vault


def vault(tables: Mapping[str, str]) -> Vault:
    return tenants.vault(tables["data_keys"], LOCAL, kms=partial(aws.client, "kms"))


def key_table(tables: Mapping[str, str]) -> tenants.KeyTable:
    return tenants.key_table(tables["keys"], tables["data_keys"], LOCAL, kms=partial(aws.client, "kms"))
