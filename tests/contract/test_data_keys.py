"""Data keys, wrapped by the key of the environment: the local engine's KMS checks the owner as AWS's does."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from postdate.domain.errors import Conflict, InvalidState, NotFound, SecretBroken, Unavailable
from postdate.stores.data_keys import KEY_BYTES, DataKeys, KmsDataKeys
from tests.contract.conftest import OnAws

NOW, HOUR = datetime(2026, 11, 18, tzinfo=UTC), timedelta(hours=1)
LATER = NOW + HOUR


def test_an_owner_has_one_key_once_it_is_provided(data_keys: DataKeys) -> None:
    assert data_keys.get("acme-1") is None
    made = data_keys.provide("acme-1")
    assert len(made) == KEY_BYTES
    assert data_keys.provide("acme-1") == made == data_keys.get("acme-1")
    assert data_keys.provide("zeta-1") != made


def test_of_keys_that_are_provided_at_once_one_counts(data_keys: DataKeys) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(data_keys.provide, ["acme-2"] * 8))
    assert made == {data_keys.get("acme-2")}


def test_a_row_holds_no_readable_key(on_aws: OnAws) -> None:
    made = on_aws.data_keys.provide("acme-3")
    row = on_aws.dynamodb.get_item(TableName=on_aws.names["data_keys"], Key={"owner": {"S": "acme-3"}})
    assert row["Item"].keys() == {"owner", "wrapped"}
    assert made not in repr(row).encode()


def test_the_key_of_one_owner_is_not_opened_for_another(on_aws: OnAws) -> None:
    on_aws.data_keys.provide("acme-4")
    table = on_aws.names["data_keys"]
    row = on_aws.dynamodb.get_item(TableName=table, Key={"owner": {"S": "acme-4"}})["Item"]
    on_aws.dynamodb.put_item(TableName=table, Item=row | {"owner": {"S": "zeta-4"}})
    with pytest.raises(SecretBroken):
        on_aws.data_keys.get("zeta-4")


def test_a_key_that_kms_refuses_is_unavailable_for_now(on_aws: OnAws) -> None:
    from postdate.runtime import aws as runtime

    kms = runtime.client("kms")
    key_id = kms.create_key()["KeyMetadata"]["Arn"]
    data_keys = KmsDataKeys(table=on_aws.names["data_keys"], kms=lambda: kms, key_id=key_id)
    made = data_keys.provide("acme-5")
    kms.disable_key(KeyId=key_id)
    with pytest.raises(Unavailable):
        data_keys.get("acme-5")
    kms.enable_key(KeyId=key_id)
    assert data_keys.get("acme-5") == made


def test_a_replaced_key_stays_beside_the_new_one(data_keys: DataKeys) -> None:
    first = data_keys.provide("acme-6")
    data_keys.replace("acme-6", seals_from=LATER, now=NOW)
    (before, after) = data_keys.all("acme-6")
    assert (before.key, before.seals_from, after.seals_from) == (first, None, LATER)
    assert after.key != first
    # Code that knows one key only goes on with the first one.
    assert data_keys.get("acme-6") == data_keys.provide("acme-6") == first
    with pytest.raises(InvalidState):
        data_keys.replace("acme-6", seals_from=LATER + HOUR, now=NOW)
    data_keys.replace("acme-6", seals_from=LATER + HOUR, now=LATER)
    assert [each.seals_from for each in data_keys.all("acme-6")] == [None, LATER, LATER + HOUR]


def test_an_owner_without_a_key_has_none_to_replace(data_keys: DataKeys) -> None:
    with pytest.raises(NotFound):
        data_keys.replace("acme-7", seals_from=LATER, now=NOW)
    assert data_keys.all("acme-7") == ()


def test_of_replacements_at_once_one_counts(data_keys: DataKeys) -> None:
    data_keys.provide("acme-8")

    def replaced(_: int) -> bool:
        try:
            data_keys.replace("acme-8", seals_from=LATER, now=NOW)
        except (Conflict, InvalidState):
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(replaced, range(8))) == 1
    assert len(data_keys.all("acme-8")) == 2
