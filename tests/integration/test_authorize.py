"""The authorizer's handler: a bearer key becomes its tenant, and everything else nobody."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from postdate.stores.api_key import ApiKey
from postdate.stores.key_hashes import plain_hash_of
from postdate.stores.key_text import bearer_text
from tests.boundary import Boundary, unreachable
from tests.integration.conftest import forget
from tests.integration.world import SECRET, Client, World

NOBODY: Final[dict[str, Any]] = {
    "isAuthorized": True,
    "context": {"tenant": "", "key_id": ""},
}


@pytest.fixture
def key(world: World) -> str:
    """The key's text as its holder sends it; the secret contains the separator."""
    store(world, "k1", "s3cr_et-")
    return bearer_text("k1", "s3cr_et-")


def store(world: World, id: str, secret: str, **fields: Any) -> None:
    scopes = frozenset({"tasks:write", "ops", "tasks:read"})
    world.keys.put(ApiKey(id=id, secret_sha256=plain_hash_of(secret), tenant="acme", scopes=scopes, **fields))


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_key_becomes_its_tenant(world: World, key: str, scheme: str) -> None:
    found = {"tenant": "acme", "key_id": "k1"}
    answer = world.authorize({"authorization": f"{scheme} {key}"})
    assert answer == {"isAuthorized": True, "context": found}


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic pd_k1_s3cr_et-",
        "pd_k1_s3cr_et-",
        "Bearer pd_k1_wrong",
        "Bearer pd_k1_",
        "Bearer pd_k1",
        "Bearer pd_k2_s3cr_et-",
        "Bearer xx_k1_s3cr_et-",
        "Bearer pd_k1_S3CR_ET-",
        "Bearer pd__s3cr_et-",
        "Bearer pd_größe_x",
        f"Bearer pd_k1_{'x' * 10_000}",
    ],
)
def test_anything_else_is_nobody(world: World, key: str, authorization: str) -> None:
    assert world.authorize({"authorization": authorization}) == NOBODY
    assert world.authorize({}) == NOBODY


def test_an_expired_key_is_nobodys(world: World) -> None:
    now = datetime.now(UTC)
    store(world, "old", "s", expires_at=now - timedelta(seconds=2))
    store(world, "new", "s", expires_at=now + timedelta(hours=1))
    assert world.authorize({"authorization": "Bearer pd_old_s"}) == NOBODY
    assert world.authorize({"authorization": "Bearer pd_new_s"})["context"]["tenant"] == "acme"


def test_a_new_key_works_at_once_for_it_is_read_as_it_is_now(world: World, boundary: Boundary) -> None:
    boundary.admits = True
    assert world.authorize({"authorization": "Bearer pd_later_s"}) == NOBODY
    store(world, "later", "s")
    assert world.authorize({"authorization": "Bearer pd_later_s"})["context"]["key_id"] == "later"
    assert [asked["ConsistentRead"] for asked in boundary.asked("GetItem")] == [True, True]


def test_a_new_copy_of_the_authorizer_knows_the_keys_of_earlier_ones(world: World) -> None:
    """The new copy reads the key of the hashes from its table. A key made anew would fit no hash."""
    hashed = Client(tenant="earlier")
    forget()
    answer = world.authorize({"authorization": f"Bearer {bearer_text(hashed.key_id, SECRET)}"})
    assert answer["context"] == {"tenant": "earlier", "key_id": hashed.key_id}


def test_a_key_that_cannot_be_read_is_not_taken_for_a_wrong_one(world: World, boundary: Boundary) -> None:
    boundary.admits = True
    boundary.fail("GetItem", *[unreachable] * 9)
    answer = world.authorize({"authorization": "Bearer pd_unread_s"})
    assert answer == {"isAuthorized": True, "context": {**NOBODY["context"], "unavailable": "true"}}
