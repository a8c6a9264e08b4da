"""Tokens of an issuer: which count, what they tell, and what becomes of the issuer's keys."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from postdate.domain.errors import Unavailable
from postdate.runtime.issuer import (
    ASKED_AGAIN_AFTER,
    KEPT,
    KEPT_WITHOUT_ANSWER,
    Issuer,
    Oidc,
    person_by,
    token_of,
)
from tests.unit.doubles import SECOND, START, ManualClock

GIVEN = Oidc(issuer="https://login.example", audience="postdate", jwks_url="https://login.example/keys")
FIRST, SECOND_KEY, STRANGER = (
    rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(3)
)
NOW = int(START.timestamp())
CLAIMS = {
    "iss": GIVEN.issuer,
    "aud": GIVEN.audience,
    "sub": "ada",
    "iat": NOW - 10,
    "exp": NOW + 3600,
    "postdate_tenant": "acme",
    "scope": "openid tasks:read payments:read",
}
HOUR = timedelta(hours=1)


def jwk(key, kid, **fields):
    listed = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return {**listed, "kid": kid, "use": "sig", **fields}


class Keys:
    """The issuer's document, and how often it was asked for."""

    def __init__(self, *keys):
        self.keys = list(keys)
        self.asked = 0
        self.error = None

    def __call__(self, url):
        assert url == GIVEN.jwks_url
        self.asked += 1
        if self.error is not None:
            raise self.error
        return json.dumps({"keys": self.keys}).encode()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def keys():
    return Keys(jwk(FIRST, "k1"))


@pytest.fixture
def issuer(keys, clock):
    return Issuer(GIVEN, fetch=keys, clock=clock)


def token(key=FIRST, kid="k1", algorithm="RS256", without=(), **claims):
    told = {name: value for name, value in (CLAIMS | claims).items() if name not in without}
    return jwt.encode(told, key, algorithm=algorithm, headers={"kid": kid})


def by_hand(header, claims, sign):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    signed = part(header) + b"." + part(claims)
    return (signed + b"." + base64.urlsafe_b64encode(sign(signed)).rstrip(b"=")).decode()


def test_a_token_tells_tenant_and_scopes_and_nothing_that_we_do_not_know(issuer):
    person = issuer.person(token())
    assert (person.tenant, person.scopes) == ("acme", {"tasks:read", "payments:read"})
    assert person.id == issuer.person(token(scope="")).id
    assert person.id != issuer.person(token(sub="eve")).id
    assert "ada" not in person.id


PEM = FIRST.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
WRONG = {
    "another key": token(STRANGER),
    "another key's id": token(SECOND_KEY, kid="k2"),
    "no key's id": jwt.encode(CLAIMS, FIRST, algorithm="RS256"),
    "another algorithm of the same key": token(algorithm="RS512"),
    "another algorithm": token(ec.generate_private_key(ec.SECP256R1()), algorithm="ES256"),
    "no algorithm": by_hand({"alg": "none", "kid": "k1"}, CLAIMS, lambda _: b""),
    "the public key as a shared secret": by_hand(
        {"alg": "HS256", "kid": "k1"}, CLAIMS, lambda text: hmac.digest(PEM, text, hashlib.sha256)
    ),
    "changed claims": "{0}.{2}.{1}".format(
        *token().split(".")[::2], token(postdate_tenant="other").split(".")[1]
    ),
    "another issuer": token(iss="https://login.example.evil"),
    "another audience": token(aud="console"),
    **{f"without {name}": token(without=(name,)) for name in ("iss", "aud", "sub", "exp", "iat")},
    "expired": token(exp=NOW - 31),
    "not yet made": token(iat=NOW + 31),
    "not yet valid": token(nbf=NOW + 31),
    "too long a life": token(exp=NOW + 25 * 3600),
    "an expiry that is no instant": token(exp=True),
    "a tenant that is no text": token(postdate_tenant=["acme"]),
    "an empty tenant": token(postdate_tenant=""),
    "no tenant": token(without=("postdate_tenant",)),
    "scopes that are no list": token(scope={"tasks:read": True}),
    "nothing": "..",
    "no json": "a.b.c",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_token_that_is_wrong_in_one_thing_is_nobodys(issuer, name):
    assert issuer.person(token()) is not None
    assert issuer.person(WRONG[name]) is None


@pytest.mark.parametrize(
    "claims", [{"exp": NOW - 29}, {"iat": NOW + 29}, {"aud": ["x", "postdate"]}], ids=str
)
def test_clocks_may_differ_a_little_and_a_token_may_be_for_several(issuer, claims):
    assert issuer.person(token(**claims)) is not None


def test_no_token_gives_a_scope_of_services_and_none_of_a_tenant_that_of_operators(issuer):
    assert issuer.person(token(scope="ops internal tasks:read")).scopes == {"tasks:read"}
    operator = issuer.person(token(scope="ops internal tasks:read", without=("postdate_tenant",)))
    assert (operator.tenant, operator.scopes) == (None, {"ops", "tasks:read"})


def test_claims_have_other_names_by_configuration(keys, clock):
    given = Oidc.parse(
        json.dumps(
            {
                **{name: getattr(GIVEN, name) for name in ("issuer", "audience", "jwks_url")},
                "tenant_claim": "custom:tenant",
                "scopes_claim": "cognito:groups",
                "scope_prefix": "postdate/",
            }
        )
    )
    issuer = Issuer(given, fetch=keys, clock=clock)
    shown = {"custom:tenant": "acme", "cognito:groups": ["postdate/tasks:read", "payments:read", 7]}
    assert issuer.person(token(**shown)).scopes == {"tasks:read"}


def test_the_keys_are_read_once_in_ten_minutes(issuer, keys, clock):
    for _ in range(5):
        issuer.person(token())
    assert keys.asked == 1
    clock.move(KEPT)
    issuer.person(token())
    assert keys.asked == 2


def test_a_new_key_of_the_issuer_works_at_once_and_a_withdrawn_one_ends(issuer, keys, clock):
    issuer.person(token())
    clock.move(ASKED_AGAIN_AFTER)
    keys.keys = [jwk(SECOND_KEY, "k2")]
    assert issuer.person(token(SECOND_KEY, kid="k2")) is not None
    assert issuer.person(token()) is None


def test_a_withdrawn_key_is_refused_within_ten_minutes(issuer, keys, clock):
    issuer.person(token())
    keys.keys = [jwk(SECOND_KEY, "k2")]
    clock.move(KEPT - SECOND)
    assert issuer.person(token()) is not None
    clock.move(SECOND)
    assert issuer.person(token()) is None


def test_invented_keys_make_nobody_ask_the_issuer_for_each_of_them(issuer, keys, clock):
    for number in range(100):
        assert issuer.person(token(STRANGER, kid=f"x{number}")) is None
    assert keys.asked == 1
    clock.move(ASKED_AGAIN_AFTER)
    issuer.person(token(STRANGER, kid="x"))
    assert keys.asked == 2


@pytest.mark.parametrize("error", [OSError(), TimeoutError(), ValueError("no JSON")], ids=repr)
def test_without_an_answer_the_last_keys_count_for_a_day_and_then_nobody_is_refused_as_unknown(
    issuer, keys, clock, error
):
    issuer.person(token())
    keys.error = error
    clock.move(KEPT_WITHOUT_ANSWER - SECOND)
    late = int(clock.now().timestamp())
    assert issuer.person(token(iat=late, exp=late + 60)) is not None
    clock.move(SECOND)
    with pytest.raises(Unavailable):
        issuer.person(token(iat=late, exp=late + 60))


def test_an_issuer_that_never_answered_is_asked_again_after_a_pause(issuer, keys, clock):
    keys.error = OSError()
    for _ in range(3):
        with pytest.raises(Unavailable):
            issuer.person(token())
    assert keys.asked == 1
    keys.error = None
    clock.move(ASKED_AGAIN_AFTER)
    assert issuer.person(token()) is not None


@pytest.mark.parametrize(
    "unusable",
    [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0"}, {"kty": "XX"}, "x", jwk(FIRST, "k1", use="enc")],
    ids=["a shared secret", "an unknown kind", "no object", "for encryption"],
)
def test_keys_that_cannot_be_used_are_left_out(keys, clock, unusable):
    keys.keys = [unusable, jwk(SECOND_KEY, "k2")]
    issuer = Issuer(GIVEN, fetch=keys, clock=clock)
    assert issuer.person(token()) is None
    assert issuer.person(token(SECOND_KEY, kid="k2")) is not None


@pytest.mark.parametrize(
    ("authorization", "found"),
    [
        ("Bearer a.b.c", "a.b.c"),
        ("bearer  a.b.c ", "a.b.c"),
        ("Basic a.b.c", None),
        ("Bearer pd_k1_secret", None),
        ("Bearer a.b", None),
        (f"Bearer {'a' * 8192}.b.c", None),
        ("", None),
    ],
)
def test_a_token_is_told_from_a_key_by_its_parts(authorization, found):
    assert token_of(authorization) == found


def test_without_an_issuer_everybody_is_nobody(keys, clock):
    assert person_by("none", fetch=keys, clock=clock)(token()) is None
    assert keys.asked == 0


@pytest.mark.parametrize(
    "setting",
    ["", "{}", '{"issuer": "x"}', json.dumps({"issuer": "x", "audience": "", "jwks_url": "y"})]
    + [
        json.dumps({"issuer": "x", "audience": "a", "jwks_url": "y", "algorithm": name})
        for name in ("HS256", "none")
    ],
)
def test_a_wrong_setting_stops_the_function_at_its_start(keys, clock, setting):
    with pytest.raises((ValueError, TypeError)):
        person_by(setting, fetch=keys, clock=clock)
