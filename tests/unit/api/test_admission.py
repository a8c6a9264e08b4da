"""The gateway remembers for a minute who showed a key: what became of the key since then counts all the same."""

from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.admission import Admission
from functions.api.keys.rehash import Rehash
from postdate.domain.errors import Forbidden, Unauthenticated, Unavailable
from postdate.runtime.cached import Cached
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.key_hashes import KeyHashes, plain_hash_of
from postdate.stores.keys_memory import MemoryKeys
from tests.unit.doubles import SECOND, START, ManualClock

SHOWN = "Bearer pd_k1_secret"
KNOWN = {"authorizer": {"lambda": {"tenant": "demo", "key_id": "k1"}}}
NOT_READ = {"authorizer": {"lambda": {"tenant": "", "key_id": "", "unavailable": "true"}}}
OPERATES = {"authorizer": {"lambda": {"tenant": "", "key_id": "o1"}}}
HASHES = KeyHashes(MemoryDataKeys())
OPERATOR = ApiKey(id="o1", secret_sha256=plain_hash_of("secret"), tenant=None, scopes=frozenset({"ops"}))
KEY = ApiKey(
    id="k1",
    secret_sha256=plain_hash_of("secret"),
    tenant="demo",
    scopes=frozenset({"tasks:read", "tasks:write"}),
)


class Keys(MemoryKeys):
    def __init__(self, *keys: ApiKey) -> None:
        super().__init__(*keys)
        self.read = 0
        self.unavailable = False

    def get(self, id):
        self.read += 1
        if self.unavailable:
            raise Unavailable
        return super().get(id)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def keys():
    return Keys(KEY, OPERATOR)


@pytest.fixture
def admission(keys, clock):
    return Admission(
        key=Cached(keys.get, keep=timedelta(seconds=2), clock=clock).get,
        is_tenant={"demo", "acme"}.__contains__,
        hashes=HASHES,
        keep=Rehash(keys=keys, hashes=HASHES).keep,
        count=lambda key: None,
        person=lambda token: None,
        clock=clock,
    )


@pytest.mark.parametrize("context", [KNOWN, NOT_READ], ids=["known", "not read"])
def test_a_caller_is_what_the_key_says_now(admission, context):
    caller = admission.caller(context, SHOWN, None)
    assert (caller.tenant, caller.key_id, caller.scopes) == ("demo", "k1", KEY.scopes)


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"authorizer": None},
        {"authorizer": {}},
        {"authorizer": {"lambda": None}},
        {"authorizer": {"lambda": {"tenant": "", "key_id": ""}}},
        {"authorizer": {"lambda": {"tenant": "demo", "key_id": None}}},
    ],
    ids=str,
)
def test_a_caller_that_the_authorizer_does_not_know_stays_unknown_and_no_key_is_read(
    admission, keys, context
):
    with pytest.raises(Unauthenticated):
        admission.caller(context, SHOWN, None)
    assert keys.read == 0


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Basic pd_k1_secret", "Bearer pd_k1_other", "Bearer pd_k2_x"]
)
@pytest.mark.parametrize("context", [KNOWN, NOT_READ], ids=["known", "not read"])
def test_whatever_the_authorizer_said_the_key_is_what_counts(admission, context, authorization):
    with pytest.raises(Unauthenticated):
        admission.caller(context, authorization, None)


@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": START - SECOND},
        {"secret_sha256": plain_hash_of("another")},
    ],
    ids=["ended", "replaced"],
)
def test_a_key_that_is_revoked_is_refused_within_two_seconds(admission, keys, clock, change):
    admission.caller(KNOWN, SHOWN, None)
    keys.put(replace(KEY, **change))
    clock.move(2 * SECOND)
    with pytest.raises(Unauthenticated):
        admission.caller(KNOWN, SHOWN, None)


def test_a_key_that_is_deleted_is_refused_within_two_seconds(admission, keys, clock):
    admission.caller(KNOWN, SHOWN, None)
    keys._keys.clear()
    clock.move(2 * SECOND)
    with pytest.raises(Unauthenticated):
        admission.caller(KNOWN, SHOWN, None)


def test_a_key_ends_at_the_instant_that_was_set_for_it(admission, keys, clock):
    keys.put(replace(KEY, expires_at=START + SECOND))
    admission.caller(KNOWN, SHOWN, None)
    clock.move(SECOND)
    with pytest.raises(Unauthenticated):
        admission.caller(KNOWN, SHOWN, None)
    assert keys.read == 1


def test_a_scope_that_is_taken_away_is_gone_within_two_seconds(admission, keys, clock):
    assert "tasks:write" in admission.caller(KNOWN, SHOWN, None).scopes
    keys.put(replace(KEY, scopes=frozenset({"tasks:read"})))
    clock.move(2 * SECOND)
    assert "tasks:write" not in admission.caller(KNOWN, SHOWN, None).scopes


def test_a_key_is_read_once_in_two_seconds(admission, keys, clock):
    for _ in range(20):
        admission.caller(KNOWN, SHOWN, None)
        clock.move(SECOND / 10)
    assert keys.read == 1
    admission.caller(KNOWN, SHOWN, None)
    assert keys.read == 2


def test_a_key_that_cannot_be_read_is_no_wrong_key(admission, keys):
    keys.unavailable = True
    with pytest.raises(Unavailable):
        admission.caller(KNOWN, SHOWN, None)


@pytest.mark.parametrize("named", [None, "demo"])
def test_a_tenants_key_acts_for_its_tenant(admission, named):
    assert admission.caller(KNOWN, SHOWN, named).tenant == "demo"


@pytest.mark.parametrize("named", ["acme", "Demo", "nobody", ""])
def test_a_tenants_key_that_names_another_tenant_is_refused(admission, named):
    with pytest.raises(Forbidden):
        admission.caller(KNOWN, SHOWN, named)


@pytest.mark.parametrize("context", [OPERATES, NOT_READ], ids=["known", "not read"])
@pytest.mark.parametrize("named", ["demo", "acme"])
def test_an_operator_acts_for_the_tenant_that_it_names(admission, context, named):
    caller = admission.caller(context, "Bearer pd_o1_secret", named)
    assert (caller.tenant, caller.key_id, caller.operates) == (named, "o1", True)


@pytest.mark.parametrize("named", [None, "", "nobody"])
def test_an_operator_who_names_no_tenant_that_there_is_gets_told_which_header(admission, named):
    with pytest.raises(Forbidden, match="Postdate-Tenant"):
        admission.caller(OPERATES, "Bearer pd_o1_secret", named)


def test_a_hash_of_an_older_release_is_keyed_when_its_secret_is_shown(admission, keys):
    admission.caller(KNOWN, SHOWN, None)
    assert keys.get("k1").secret_sha256 == HASHES.of("secret")
    admission.caller(KNOWN, SHOWN, None)


def test_without_kms_a_hash_of_an_older_release_stays_and_is_accepted(keys, clock):
    class Closed(MemoryDataKeys):
        def provide(self, owner):
            raise Unavailable

    hashes = KeyHashes(Closed())
    admission = Admission(
        key=keys.get,
        is_tenant=lambda id: True,
        hashes=hashes,
        keep=Rehash(keys=keys, hashes=hashes).keep,
        count=lambda key: None,
        person=lambda token: None,
        clock=clock,
    )
    assert admission.caller(KNOWN, SHOWN, None).key_id == "k1"
    assert keys.get("k1") == KEY
