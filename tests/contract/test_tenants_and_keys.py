"""Tenants and their keys come back as they went in."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from postdate.domain.task import Destination
from postdate.stores.keys import ApiKey, Keys, hash_of
from postdate.stores.tenants import Tenant, Tenants
from tests.contract.conftest import OnAws

QUEUES = frozenset(
    ("sqs", f"https://sqs.us-east-1.amazonaws.com/123456789012/queue-{number}") for number in range(3)
)
BUSES = frozenset({("eventbridge", "postdate-destination-a"), ("eventbridge", "with a space")})


@pytest.mark.parametrize(
    "tenant",
    [
        Tenant(id="empty"),
        Tenant(id="full", destinations=QUEUES | BUSES, signing_secrets=("whsec_bmV3", "whsec_b2xk")),
        Tenant(id="größe 🐈"),
        Tenant(id="usual", default_target=Destination(type="sqs", address="https://sqs.example.com/1/q")),
        Tenant(
            id="web",
            default_target=Destination(
                type="webhook", address="https://example.com", method="PUT", headers=(("X-A", "1"),)
            ),
        ),
    ],
    ids=["empty", "full", "odd", "with a default queue", "with a default webhook"],
)
def test_a_tenant_is_read_back_as_it_was_written(tenants: Tenants, tenant: Tenant) -> None:
    tenants.put(tenant)
    assert tenants.get(tenant.id) == tenant


def test_a_tenant_is_replaced_whole(tenants: Tenants) -> None:
    tenants.put(Tenant(id="replaced", destinations=QUEUES, signing_secrets=("whsec_b2xk",)))
    rotated = Tenant(id="replaced", signing_secrets=("whsec_bmV3", "whsec_b2xk"))
    tenants.put(rotated)
    assert tenants.get("replaced") == rotated


def test_all_tenants_are_found_by_their_ids(tenants: Tenants) -> None:
    before = set(tenants.ids())
    for id in ("found-2", "found-1"):
        tenants.put(Tenant(id=id, destinations=QUEUES))
    assert tenants.ids() == sorted({*before, "found-1", "found-2"})


def test_rows_of_older_code_are_read_and_older_code_reads_ours(on_aws: OnAws) -> None:
    old = {
        "tenant": {"S": "old"},
        "queue_urls": {"L": [{"S": "q"}]},
        "buses": {"L": [{"S": "b"}]},
        "signing_secrets": {"L": []},
    }
    on_aws.dynamodb.put_item(TableName=on_aws.names["tenants"], Item=old)
    read = on_aws.tenants.get("old")
    assert read == Tenant(id="old", destinations=frozenset({("sqs", "q"), ("eventbridge", "b")}))
    on_aws.tenants.put(read)
    row = on_aws.dynamodb.get_item(TableName=on_aws.names["tenants"], Key={"tenant": {"S": "old"}})["Item"]
    assert {name: row[name] for name in old} == old


def test_a_tenant_from_before_there_were_buses_may_use_none(on_aws: OnAws) -> None:
    row = {"tenant": {"S": "oldest"}, "queue_urls": {"L": [{"S": "q"}]}, "signing_secrets": {"L": []}}
    on_aws.dynamodb.put_item(TableName=on_aws.names["tenants"], Item=row)
    assert on_aws.tenants.get("oldest") == Tenant(id="oldest", destinations=frozenset({("sqs", "q")}))


def test_a_key_is_read_back_as_it_was_written(keys: Keys, now: datetime) -> None:
    for_ever = ApiKey(id="k1", secret_sha256=hash_of("s1"), tenant="acme", scopes=frozenset())
    expiring = ApiKey(
        id="k2",
        secret_sha256=hash_of("s2"),
        tenant="acme",
        scopes=frozenset({"tasks:read", "tasks:write", "ops"}),
        expires_at=now.replace(microsecond=0) + timedelta(days=1),
    )
    operators = ApiKey(id="k6", secret_sha256=hash_of("s6"), tenant=None, scopes=frozenset({"ops"}))
    keys.put(for_ever)
    keys.put(expiring)
    keys.put(operators)
    for bound in (frozenset({"a", "b:1"}), frozenset[str]()):
        keys.put(replace(for_ever, id="k5", accounts=bound))
        assert keys.get("k5") == replace(for_ever, id="k5", accounts=bound)
    assert keys.get("k1") == for_ever
    assert keys.get("k2") == expiring
    assert keys.get("k6") == operators


def test_a_revoked_key_accepts_its_secret_no_more(keys: Keys, now: datetime) -> None:
    now = now.replace(microsecond=0)
    key = ApiKey(id="k3", secret_sha256=hash_of("s3"), tenant="acme", scopes=frozenset({"ops"}))
    keys.put(key)
    stored = keys.get("k3")
    assert stored is not None
    assert stored.accepts("s3", now=now)
    assert not stored.accepts("S3", now=now)
    revoked = ApiKey(id="k3", secret_sha256=hash_of("s3"), tenant="acme", scopes=frozenset(), expires_at=now)
    keys.put(revoked)
    assert keys.get("k3") == revoked
    assert not revoked.accepts("s3", now=now)


def test_whoever_was_never_stored_is_not_found(tenants: Tenants, keys: Keys) -> None:
    assert tenants.get("nobody") is None
    assert keys.get("nobody") is None


def test_of_a_keys_secret_only_a_hash_is_stored(on_aws: OnAws) -> None:
    on_aws.keys.put(
        ApiKey(id="k4", secret_sha256=hash_of("hunter2"), tenant="acme", scopes=frozenset({"ops"}))
    )
    row = on_aws.dynamodb.get_item(TableName=on_aws.names["keys"], Key={"key_id": {"S": "k4"}})["Item"]
    assert "hunter2" not in str(row)


@pytest.mark.parametrize(
    "owner",
    [{}, {"operator": {"BOOL": False}}, {"operator": {"BOOL": True}, "tenant": {"S": "acme"}}],
    ids=str,
)
def test_a_key_that_lost_its_tenant_is_nobodys_and_no_operators(on_aws: OnAws, owner: dict[str, Any]) -> None:
    row = {"key_id": {"S": "k7"}, "secret_sha256": {"S": hash_of("s7")}, "scopes": {"L": [{"S": "ops"}]}}
    on_aws.dynamodb.put_item(TableName=on_aws.names["keys"], Item=row | owner)
    assert on_aws.keys.get("k7") is None
