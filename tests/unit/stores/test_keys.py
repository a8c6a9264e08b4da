import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.key_hashes import KeyHashes, plain_hash_of
from postdate.stores.key_text import bearer_text, new_id, new_secret, split
from tests.unit.doubles import START

HASHES = KeyHashes(MemoryDataKeys())
CHECKSUM = "22gHne"
TEXTS = st.text(alphabet="abcXYZ019_-.~", min_size=1, max_size=60)
KEY = ApiKey(id="k1", secret_sha256=plain_hash_of("secret"), tenant="demo", scopes=frozenset({"tasks:read"}))


@given(key_id=st.text(alphabet="abcXYZ019", min_size=1, max_size=20), secret=TEXTS)
def test_a_bearer_text_gives_back_the_key_and_the_secret_it_was_made_of(key_id, secret):
    assert split(bearer_text(key_id, secret)) == (key_id, secret)


@pytest.mark.parametrize(
    "bearer",
    [
        "",
        "pd",
        "pd_",
        "pd_k",
        "pd_k_",
        "pd__s",
        "xx_k_s",
        "k_s",
        "pd_k-1_s",
        "pd_ü_s",
        "PD_k_s",
        "pd_k_" + "s" * 252,
    ],
)
def test_a_text_that_is_no_key_of_ours_is_not_split(bearer):
    assert split(bearer) is None


def test_a_key_accepts_its_secret_and_no_other():
    assert KEY.accepts("secret", now=START, hashes=HASHES)
    for wrong in ("", "Secret", "secret ", "secre", KEY.secret_sha256):
        assert not KEY.accepts(wrong, now=START, hashes=HASHES)


def test_a_key_is_refused_from_the_instant_it_expires():
    expiring = ApiKey(
        id="k1",
        secret_sha256=KEY.secret_sha256,
        tenant="demo",
        scopes=frozenset(),
        expires_at=START,
    )
    assert expiring.accepts("secret", now=START - timedelta(milliseconds=1), hashes=HASHES)
    assert not expiring.accepts("secret", now=START, hashes=HASHES)
    assert not expiring.accepts("wrong", now=START - timedelta(days=1), hashes=HASHES)
    assert KEY.accepts("secret", now=START + timedelta(days=10_000), hashes=HASHES)


def test_the_secret_itself_is_kept_nowhere():
    assert "secret" not in repr(KEY).replace("secret_sha256", "")


def test_a_new_text_carries_a_checksum_and_a_changed_character_is_no_key():
    id = new_id()
    text = bearer_text(id, new_secret(id))
    assert split(text) is not None
    assert re.fullmatch(r"pd_[0-9a-f]{16}_[A-Za-z0-9_-]{43}[0-9A-Za-z]{6}", text)
    for place in (3, 18, 20, len(text) - 20, len(text) - 1):
        other = "a" if text[place] != "a" else "b"
        assert split(f"{text[:place]}{other}{text[place + 1 :]}") is None


def test_a_checksum_is_crc_32_in_base_62_so_that_scanners_can_tell_it():
    text = "pd_0123456789abcdef_" + "s" * 43
    assert split(text + "2KvF8U") is None
    assert split(text + CHECKSUM) == ("0123456789abcdef", "s" * 43 + CHECKSUM)


def test_a_key_of_an_older_release_has_no_checksum():
    assert split("pd_k1_" + "s" * 43) == ("k1", "s" * 43)


@pytest.mark.parametrize(
    ("address", "usable"),
    [
        ("203.0.113.9", True),
        ("203.0.114.9", False),
        ("2001:db8::1", True),
        ("2001:db9::1", False),
        ("", False),
        ("x", False),
    ],
)
def test_a_key_is_used_from_its_networks_alone(address, usable):
    bound = replace(KEY, networks=("203.0.113.0/24", "2001:db8::/32"))
    assert bound.is_usable_from(address) is usable
    assert KEY.is_usable_from(address)


def test_a_revoked_key_is_refused_whatever_its_expiry_says():
    assert not replace(KEY, revoked_at=START).accepts("secret", now=START, hashes=HASHES)
