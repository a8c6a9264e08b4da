"""Keys are made, rotated and revoked, and none gains a right that its maker does not have."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.keys.forms import KeyForm
from functions.api.keys.grant import Keyring
from postdate.domain.errors import Conflict, Forbidden, InvalidState, NotFound, ValidationFailed
from postdate.domain.scopes import INTERNAL, OF_TENANTS
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.key_hashes import KeyHashes, plain_hash_of
from postdate.stores.key_text import accepted_key, split
from postdate.stores.keys_memory import MemoryKeys
from tests.unit.doubles import SECOND, START, ManualClock

ALL = frozenset(OF_TENANTS)
MAKER = Caller(tenant="acme", key_id="maker", scopes=ALL)
BOUND = replace(
    MAKER,
    scopes=frozenset({"keys:write", "payments:read", "tasks:read"}),
    accounts=frozenset({"a", "b"}),
    amount_max=100,
    networks=("10.0.0.0/8", "2001:db8::/32"),
    expires_at=START + timedelta(days=30),
)
FITS = {
    "scopes": ["payments:read"],
    "account_ids": ["a"],
    "amount_max": 100,
    "networks": ["10.1.0.0/16"],
    "expires_at": "2026-12-18T10:05:00Z",
}


def form(**fields):
    return parsed(KeyForm, json.dumps({"name": "shop", "scopes": ["payments:read"], **fields}))


HASHES = KeyHashes(MemoryDataKeys())


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def keyring(clock):
    return Keyring(keys=MemoryKeys(), hashes=HASHES, clock=clock)


def is_good(keyring, text):
    return (
        accepted_key(f"Bearer {text}", keyring.keys.get, now=keyring.clock.now(), hashes=HASHES) is not None
    )


def test_a_new_key_works_and_only_its_hash_is_kept(keyring):
    made = keyring.make(MAKER, form())
    assert is_good(keyring, made.text)
    _, secret = split(made.text)
    stored = keyring.keys.get(made.key.id)
    assert (stored.tenant, stored.scopes, stored.made_by) == ("acme", {"payments:read"}, "maker")
    assert stored.secret_sha256 == HASHES.of(secret) != plain_hash_of(secret)
    assert secret not in repr(stored)


def test_a_key_may_have_all_that_its_maker_has(keyring):
    assert keyring.make(MAKER, form(scopes=sorted(ALL))).key.scopes == ALL
    made = keyring.make(BOUND, form(**FITS)).key
    assert (made.accounts, made.amount_max, made.networks) == ({"a"}, 100, ("10.1.0.0/16",))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scopes", ["payments:read", "payments:write"]),
        ("account_ids", ["a", "c"]),
        ("account_ids", None),
        ("amount_max", 101),
        ("amount_max", None),
        ("networks", ["10.0.0.0/7"]),
        ("networks", ["10.1.0.0/16", "11.0.0.0/8"]),
        ("networks", ["::/0"]),
        ("networks", None),
        ("expires_at", "2026-12-18T10:05:01Z"),
        ("expires_at", None),
    ],
)
def test_no_key_gets_more_than_its_maker_has(keyring, field, value):
    with pytest.raises(Forbidden, match=f"^the field {field} exceeds"):
        keyring.make(BOUND, form(**FITS | {field: value}))
    assert keyring.keys.listed("acme", after="", limit=9) == []


def test_a_key_with_a_limit_for_a_day_makes_no_key_that_pays(keyring):
    bound = replace(MAKER, amount_per_day_max=100)
    with pytest.raises(Forbidden, match="amount_per_day_max"):
        keyring.make(bound, form(scopes=["payments:write"], amount_per_day_max=1))
    keyring.make(bound, form(scopes=["payments:read"]))


@pytest.mark.parametrize("scope", ["ops", INTERNAL, "payments", ""])
def test_the_scopes_of_operators_and_services_are_given_to_nobody(scope):
    with pytest.raises(ValidationFailed):
        form(scopes=[scope])


@pytest.mark.parametrize("network", ["10.0.0.1/8", "everywhere", "10.0.0.0/33", "fe80::1%eth0/64"])
def test_a_network_is_a_block(network):
    with pytest.raises(ValidationFailed):
        form(networks=[network])


def test_an_expiry_is_in_the_future(keyring):
    with pytest.raises(ValidationFailed):
        keyring.make(MAKER, form(expires_at="2026-11-18T10:05:00Z"))


class TestRotating:
    def test_without_overlap_ends_the_secret_at_once(self, keyring):
        first = keyring.make(MAKER, form())
        second = keyring.rotate(MAKER, first.key.id, overlap=timedelta())
        assert second.key.id == first.key.id
        assert not is_good(keyring, first.text)
        assert is_good(keyring, second.text)

    def test_leaves_both_secrets_for_the_overlap_and_no_longer(self, keyring, clock):
        first = keyring.make(MAKER, form())
        second = keyring.rotate(MAKER, first.key.id, overlap=60 * SECOND)
        clock.sleep_until(START + 59 * SECOND)
        assert is_good(keyring, first.text)
        assert is_good(keyring, second.text)
        clock.sleep_until(START + 60 * SECOND)
        assert not is_good(keyring, first.text)
        assert is_good(keyring, second.text)

    def test_twice_leaves_the_last_two(self, keyring):
        first = keyring.make(MAKER, form())
        second, third = (keyring.rotate(MAKER, first.key.id, overlap=60 * SECOND) for _ in range(2))
        assert [is_good(keyring, each.text) for each in (first, second, third)] == [False, True, True]

    def test_a_key_with_more_rights_is_refused_because_its_text_would_be_told(self, keyring):
        strong = keyring.make(MAKER, form(scopes=["admin"]))
        with pytest.raises(Forbidden):
            keyring.rotate(BOUND, strong.key.id, overlap=timedelta())
        assert is_good(keyring, strong.text)

    def test_a_key_that_no_longer_works_is_refused(self, keyring):
        key = keyring.make(MAKER, form()).key
        keyring.revoke(MAKER, key.id)
        with pytest.raises(InvalidState):
            keyring.rotate(MAKER, key.id, overlap=timedelta())

    def test_its_own_key_is_allowed_under_a_limit_for_a_day(self, keyring):
        made = keyring.make(MAKER, form(scopes=["payments:write", "keys:write"], amount_per_day_max=5)).key
        keyring.rotate(Caller.of(made, "acme"), made.id, overlap=timedelta())


class TestRevoking:
    def test_ends_every_secret_for_good(self, keyring, clock):
        first = keyring.make(MAKER, form())
        second = keyring.rotate(MAKER, first.key.id, overlap=60 * SECOND)
        revoked = keyring.revoke(MAKER, first.key.id)
        assert not is_good(keyring, first.text)
        assert not is_good(keyring, second.text)
        clock.sleep_until(START + SECOND)
        assert keyring.revoke(MAKER, first.key.id) == revoked

    def test_moves_no_expiry_later(self, keyring, clock):
        key = keyring.make(MAKER, form(expires_at="2026-11-18T10:06:00Z")).key
        clock.sleep_until(START + timedelta(days=1))
        assert keyring.revoke(MAKER, key.id).expires_at == START + timedelta(minutes=1)


@pytest.mark.parametrize("tenant", ["other", "internal"])
def test_another_tenants_key_and_a_services_token_are_not_found(keyring, tenant):
    scopes = frozenset({INTERNAL}) if tenant == "internal" else frozenset[str]()
    keyring.keys.put(ApiKey(id="k1", secret_sha256=plain_hash_of("s"), tenant=tenant, scopes=scopes))
    caller = replace(MAKER, tenant="internal" if tenant == "internal" else "acme")
    for use in (
        lambda: keyring.find(caller, "k1"),
        lambda: keyring.revoke(caller, "k1"),
        lambda: keyring.rotate(caller, "k1", overlap=timedelta()),
    ):
        with pytest.raises(NotFound):
            use()


def test_a_key_that_changes_again_and_again_is_a_conflict(clock):
    class Changing(MemoryKeys):
        def change(self, before, after):
            return False

    keyring = Keyring(keys=Changing(), hashes=HASHES, clock=clock)
    key = keyring.make(MAKER, form()).key
    with pytest.raises(Conflict):
        keyring.revoke(MAKER, key.id)
    with pytest.raises(Conflict):
        keyring.rotate(MAKER, key.id, overlap=timedelta())
