"""Tenants and their keys come back as they went in."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest

from postdate.domain.task import Destination
from postdate.domain.tenancy import Tenancy
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.key_hashes import KeyHashes, plain_hash_of
from postdate.stores.keys import Keys
from postdate.stores.tenants import Tenant, Tenants
from tests.contract.conftest import OnAws

HASHES = KeyHashes(MemoryDataKeys())
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


def test_several_tenants_are_read_together_and_an_unknown_one_is_left_out(tenants: Tenants) -> None:
    found = {id: Tenant(id=id, destinations=QUEUES) for id in ("together-1", "together-2")}
    for tenant in found.values():
        tenants.put(tenant)
    assert tenants.get_many([*found, "together-none", "together-1"]) == found
    assert tenants.get_many([]) == {}


def test_a_tenant_is_changed_by_whoever_knows_its_last_version(tenants: Tenants) -> None:
    new = Tenant(id="versioned", tenancy=Tenancy(registered_a_second=7, suspended_because="why"))
    assert tenants.change(None, new)
    assert not tenants.change(None, new)
    first = tenants.get("versioned")
    assert first == replace(new, tenancy=replace(new.tenancy, version=1))
    assert tenants.change(first, replace(first, signing_secrets=("whsec_bmV3",)))
    assert not tenants.change(first, first)
    second = tenants.get("versioned")
    assert second == replace(
        first, signing_secrets=("whsec_bmV3",), tenancy=replace(first.tenancy, version=2)
    )


def test_a_tenant_of_an_older_release_has_no_version_and_can_be_changed(tenants: Tenants) -> None:
    old = Tenant(id="unversioned", signing_secrets=("whsec_b2xk",))
    tenants.put(old)
    until = datetime(2026, 12, 1, tzinfo=UTC)
    rotated = replace(old, signing_secrets=("whsec_bmV3", "whsec_b2xk"), signing_until=until)
    assert tenants.change(old, rotated)
    assert not tenants.change(old, rotated)
    assert tenants.get("unversioned") == replace(rotated, tenancy=Tenancy(version=1))
    assert rotated.secrets_at(until - timedelta(seconds=1)) == ("whsec_bmV3", "whsec_b2xk")
    assert rotated.secrets_at(until) == ("whsec_bmV3",)


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
    for_ever = ApiKey(id="k1", secret_sha256=plain_hash_of("s1"), tenant="acme", scopes=frozenset())
    expiring = ApiKey(
        id="k2",
        secret_sha256=plain_hash_of("s2"),
        tenant="acme",
        scopes=frozenset({"tasks:read", "tasks:write", "ops"}),
        expires_at=now.replace(microsecond=0) + timedelta(days=1),
    )
    operators = ApiKey(id="k6", secret_sha256=plain_hash_of("s6"), tenant=None, scopes=frozenset({"ops"}))
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
    key = ApiKey(id="k3", secret_sha256=plain_hash_of("s3"), tenant="acme", scopes=frozenset({"ops"}))
    keys.put(key)
    stored = keys.get("k3")
    assert stored is not None
    assert stored.accepts("s3", now=now, hashes=HASHES)
    assert not stored.accepts("S3", now=now, hashes=HASHES)
    revoked = ApiKey(
        id="k3", secret_sha256=plain_hash_of("s3"), tenant="acme", scopes=frozenset(), expires_at=now
    )
    keys.put(revoked)
    assert keys.get("k3") == revoked
    assert not revoked.accepts("s3", now=now, hashes=HASHES)


FULL = ApiKey(
    id="full",
    secret_sha256=plain_hash_of("new"),
    tenant="acme",
    scopes=frozenset({"payments:write"}),
    accounts=frozenset({"a"}),
    expires_at=datetime(2027, 1, 1, tzinfo=UTC),
    name="größe",
    amount_max=5,
    amount_per_day_max=50,
    networks=("10.0.0.0/8", "2001:db8::/32"),
    actions=frozenset({"getTask", "listTasks"}),
    read_only=True,
    requests_a_second=7,
    before_sha256=plain_hash_of("old"),
    before_until=datetime(2026, 12, 1, 0, 0, 0, 250_000, tzinfo=UTC),
    made_by="k1",
    created_at=datetime(2026, 11, 1, tzinfo=UTC),
    last_used_at=datetime(2026, 11, 2, tzinfo=UTC),
    revoked_at=datetime(2026, 11, 3, tzinfo=UTC),
)


def test_a_key_with_all_its_limits_is_read_back_as_it_was_written(keys: Keys) -> None:
    keys.put(FULL)
    assert keys.get("full") == FULL
    assert keys.some(["full", "nobody"]) == {"full": FULL}


def test_a_key_is_added_once(keys: Keys) -> None:
    first = replace(FULL, id="added")
    assert keys.add(first)
    assert not keys.add(replace(first, tenant="another"))
    assert keys.get("added") == first


def test_a_change_of_a_key_wins_against_none_that_came_between(keys: Keys, now: datetime) -> None:
    before = replace(FULL, id="changed", revoked_at=None)
    keys.put(before)
    rotated = replace(before, secret_sha256=plain_hash_of("newest"), before_sha256=None, before_until=None)
    revoked = replace(before, revoked_at=now.replace(microsecond=0))
    assert keys.change(before, rotated)
    assert not keys.change(before, revoked)
    assert keys.get("changed") == rotated
    assert not keys.change(replace(before, id="nobody"), replace(rotated, id="nobody"))
    assert keys.get("nobody") is None


def test_a_change_of_a_key_touches_nothing_else(keys: Keys) -> None:
    before = replace(FULL, id="touched")
    keys.put(before)
    assert keys.change(before, replace(before, secret_sha256=plain_hash_of("x"), scopes=frozenset({"admin"})))
    assert keys.get("touched") == replace(before, secret_sha256=plain_hash_of("x"))


def test_a_days_sum_is_bound_and_begins_anew_with_a_later_day(keys: Keys) -> None:
    keys.put(replace(FULL, id="spending"))

    def spend(amount: int, day: str = "2026-11-19") -> bool:
        return keys.spend("spending", amount, most=100, day=day)

    assert [spend(60), spend(41), spend(40), spend(1), spend(101)] == [True, False, True, False, False]
    keys.give_back("spending", 30, day="2026-11-18")
    assert not spend(1)
    keys.give_back("spending", 30, day="2026-11-19")
    assert [spend(31), spend(30)] == [False, True]
    assert [spend(100, "2026-11-20"), spend(1, "2026-11-20"), spend(1, "2026-11-19")] == [True, False, False]
    assert keys.get("spending") == replace(FULL, id="spending")
    assert not keys.spend("nobody", 1, most=100, day="2026-11-19")
    assert keys.get("nobody") is None


def test_the_use_of_a_key_is_noted_unless_one_was_noted_since(keys: Keys, now: datetime) -> None:
    at = now.replace(microsecond=0)
    keys.put(replace(FULL, id="used", last_used_at=None))
    keys.use("used", at=at, unless_since=at - timedelta(seconds=5))
    keys.use("used", at=at + timedelta(seconds=5), unless_since=at)
    assert keys.get("used") == replace(FULL, id="used", last_used_at=at)
    keys.use("used", at=at + timedelta(seconds=6), unless_since=at + timedelta(seconds=1))
    assert keys.get("used") == replace(FULL, id="used", last_used_at=at + timedelta(seconds=6))
    keys.use("nobody", at=at, unless_since=at)
    assert keys.get("nobody") is None


def test_a_tenants_keys_are_listed_page_by_page_and_no_others(keys: Keys) -> None:
    for id, tenant in (("l3", "listed"), ("l1", "listed"), ("l2", "listed"), ("l4", "other"), ("l5", None)):
        keys.put(replace(FULL, id=id, tenant=tenant))
    assert keys.listed("listed", after="", limit=2) == ["l1", "l2"]
    assert keys.listed("listed", after="l2", limit=2) == ["l3"]


def test_a_row_that_was_never_stored_is_not_found(tenants: Tenants, keys: Keys) -> None:
    assert tenants.get("nobody") is None
    assert keys.get("nobody") is None


def test_of_a_keys_secret_only_a_hash_is_stored(on_aws: OnAws) -> None:
    on_aws.keys.put(
        ApiKey(id="k4", secret_sha256=plain_hash_of("hunter2"), tenant="acme", scopes=frozenset({"ops"}))
    )
    row = on_aws.dynamodb.get_item(TableName=on_aws.names["keys"], Key={"key_id": {"S": "k4"}})["Item"]
    assert "hunter2" not in str(row)


@pytest.mark.parametrize(
    "owner",
    [{}, {"operator": {"BOOL": False}}, {"operator": {"BOOL": True}, "tenant": {"S": "acme"}}],
    ids=str,
)
def test_a_key_that_lost_its_tenant_is_nobodys_and_no_operators(on_aws: OnAws, owner: dict[str, Any]) -> None:
    row = {
        "key_id": {"S": "k7"},
        "secret_sha256": {"S": plain_hash_of("s7")},
        "scopes": {"L": [{"S": "ops"}]},
    }
    on_aws.dynamodb.put_item(TableName=on_aws.names["keys"], Item=row | owner)
    assert on_aws.keys.get("k7") is None


def test_many_amounts_that_are_given_back_at_once_are_all_given_back(on_aws: OnAws) -> None:
    """In each round one of them is sure to be written."""
    day, many = "2026-11-19", 40
    on_aws.keys.put(replace(FULL, id="many"))
    assert on_aws.keys.spend("many", 10 * many, most=10 * many, day=day)
    barrier = Barrier(many)

    def give_back(_: int) -> None:
        barrier.wait()
        on_aws.keys.give_back("many", 10, day=day)

    with ThreadPoolExecutor(many) as threads:
        list(threads.map(give_back, range(many)))
    assert on_aws.keys.spend("many", 10 * many, most=10 * many, day=day)
