from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.stores.keys import ApiKey, bearer_text, hash_of, split
from tests.unit.doubles import START

TEXTS = st.text(alphabet="abcXYZ019_-.~", min_size=1, max_size=60)
KEY = ApiKey(id="k1", secret_sha256=hash_of("secret"), tenant="demo", scopes=frozenset({"tasks:read"}))


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
def test_what_is_no_key_of_ours_is_not_split(bearer):
    assert split(bearer) is None


def test_a_key_accepts_its_secret_and_no_other():
    assert KEY.accepts("secret", now=START)
    for wrong in ("", "Secret", "secret ", "secre", KEY.secret_sha256):
        assert not KEY.accepts(wrong, now=START)


def test_a_key_is_refused_from_the_instant_it_expires():
    expiring = ApiKey(
        id="k1",
        secret_sha256=KEY.secret_sha256,
        tenant="demo",
        scopes=frozenset(),
        expires_at=START,
    )
    assert expiring.accepts("secret", now=START - timedelta(milliseconds=1))
    assert not expiring.accepts("secret", now=START)
    assert not expiring.accepts("wrong", now=START - timedelta(days=1))
    assert KEY.accepts("secret", now=START + timedelta(days=10_000))


def test_the_secret_itself_is_kept_nowhere():
    assert "secret" not in repr(KEY).replace("secret_sha256", "")
