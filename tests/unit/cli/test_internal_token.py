"""Two places for the internal token, so that one can be replaced while the other is still in use."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from cli.tenants import INTERNAL_SLOTS, KEPT_AFTER_ROTATION, KeyTable, rotated
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.key_hashes import KeyHashes, plain_hash_of
from postdate.stores.key_text import split
from postdate.stores.keys_memory import MemoryKeys
from tests.unit.doubles import START

HASHES = KeyHashes(MemoryDataKeys())
LATER = START + timedelta(days=30)
SOON = timedelta(minutes=1)


def table(keys: MemoryKeys) -> KeyTable:
    return KeyTable(keys=keys, hashes=HASHES)


def is_good(keys: MemoryKeys, token: str, now: datetime) -> bool:
    key_id, secret = split(token) or ("", "")
    key = keys.get(key_id)
    return key is not None and key.accepts(secret, now=now, hashes=HASHES)


def test_a_token_opens_the_internal_routes_and_nothing_else_and_does_not_end() -> None:
    keys = MemoryKeys()
    token = rotated(table(keys), now=START)
    key_id, _ = split(token) or ("", "")
    key = keys.get(key_id)
    assert key is not None
    assert (key.tenant, key.scopes, key.expires_at) == ("internal", frozenset({"internal"}), None)
    assert is_good(keys, token, LATER)


def test_the_token_before_is_good_for_another_hour() -> None:
    keys = MemoryKeys()
    first = rotated(table(keys), now=START)
    second = rotated(table(keys), now=LATER)
    assert is_good(keys, first, LATER + KEPT_AFTER_ROTATION - SOON)
    assert not is_good(keys, first, LATER + KEPT_AFTER_ROTATION)
    assert is_good(keys, second, LATER + timedelta(days=365))


def test_of_many_rotations_only_the_last_two_tokens_are_good() -> None:
    keys = MemoryKeys()
    tokens = [rotated(table(keys), now=START + number * SOON) for number in range(5)]
    now = START + 5 * SOON
    assert [is_good(keys, token, now) for token in tokens] == [False, False, False, True, True]
    assert all(before.split("_")[1] != after.split("_")[1] for before, after in pairwise(tokens))


def test_an_internal_token_that_has_ended_does_not_come_back() -> None:
    keys = MemoryKeys()
    first = rotated(table(keys), now=START)
    rotated(table(keys), now=START)
    rotated(table(keys), now=LATER)
    rotated(table(keys), now=LATER)
    assert not is_good(keys, first, LATER)

    ended = MemoryKeys(*(key(slot, START) for slot in INTERNAL_SLOTS))
    rotated(table(ended), now=LATER)
    assert [each.expires_at for each in map(ended.get, INTERNAL_SLOTS) if each] == [None, START]


@pytest.mark.parametrize("used", INTERNAL_SLOTS)
def test_a_rotation_that_broke_off_is_repeated_without_harm_to_the_token_in_use(used: str) -> None:
    class Breaking(MemoryKeys):
        puts = 0

        def put(self, key: ApiKey) -> None:
            self.puts += 1
            if self.puts % 2 == 0:
                raise ConnectionError
            super().put(key)

    keys = Breaking(key(used, None), key(other(used), START))
    for _ in range(3):
        with pytest.raises(ConnectionError):
            rotated(table(keys), now=LATER)
    in_use = keys.get(used)
    assert in_use is not None
    assert in_use.accepts("secret", now=LATER + KEPT_AFTER_ROTATION - SOON, hashes=HASHES)


def key(slot: str, expires_at: datetime | None) -> ApiKey:
    return ApiKey(
        id=slot,
        secret_sha256=plain_hash_of("secret"),
        tenant="internal",
        scopes=frozenset({"internal"}),
        expires_at=expires_at,
    )


def other(slot: str) -> str:
    (found,) = set(INTERNAL_SLOTS) - {slot}
    return found
