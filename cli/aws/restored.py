"""Settings that a restore leaves out: a restored table has no expiry, no point-in-time recovery and no deletion
protection."""

from collections.abc import Iterable, Iterator
from typing import Any

from infra.environment import Environment
from infra.environments import NEVER_EXPIRE


def equipped(dynamodb: Any, environment: Environment, names: Iterable[str]) -> Iterator[str]:
    """Sets what is missing for each of these tables, and answers each change in words."""
    for name in names:
        table = environment.table(name)
        if name not in NEVER_EXPIRE and _expires(dynamodb, table):
            yield f"{table}: rows expire"
        if _is_kept(dynamodb, table):
            yield f"{table}: can be restored to any second"
        if environment.keeps_data and _is_protected(dynamodb, table):
            yield f"{table}: protected from deletion"


def _expires(dynamodb: Any, table: str) -> bool:
    described = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if described["TimeToLiveStatus"] in ("ENABLED", "ENABLING"):
        return False
    setting = {"Enabled": True, "AttributeName": "expires_at"}
    dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=setting)
    return True


def _is_kept(dynamodb: Any, table: str) -> bool:
    described = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
    if described["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED":
        return False
    setting = {"PointInTimeRecoveryEnabled": True}
    dynamodb.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=setting)
    return True


def _is_protected(dynamodb: Any, table: str) -> bool:
    if dynamodb.describe_table(TableName=table)["Table"].get("DeletionProtectionEnabled"):
        return False
    dynamodb.update_table(TableName=table, DeletionProtectionEnabled=True)
    return True
