"""People who sign in at an OpenID Connect issuer: who shows a token, for which tenant, and with which scopes.

A token counts if the issuer's key signed it by the one algorithm that is configured, if it names this issuer and this
audience, and while it has not expired. The issuer's keys are read from the configured address and kept. A token with
an unknown key leads to one more reading, at most twice a minute: a key that the issuer has just begun to use works, and
a flood of invented keys asks the issuer nothing.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.errors import Unavailable
from postdate.domain.scopes import OF_TENANTS, OPS
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger

if TYPE_CHECKING:
    from jwt import PyJWK

NOT_CONFIGURED: Final = "none"
# A key that the issuer withdraws is refused after this time.
KEPT: Final = timedelta(minutes=10)
# While the issuer does not answer, its last keys count for so long.
KEPT_WITHOUT_ANSWER: Final = timedelta(hours=24)
ASKED_AGAIN_AFTER: Final = timedelta(seconds=30)
# Clocks of the issuer and of this machine may differ by this much.
LEEWAY: Final = timedelta(seconds=30)
# A token cannot be revoked, so one that lives longer is refused.
LIFETIME_MAX: Final = timedelta(hours=24)
ALGORITHMS: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"})
_CHARACTERS_MAX: Final = 8192
_REQUIRED: Final = ("iss", "sub", "aud", "exp", "iat")


@dataclass(frozen=True, kw_only=True, slots=True)
class Oidc:
    """The settings of the issuer whose tokens count."""

    # The issuer that tokens have to name.
    issuer: str
    # The name of this API at the issuer; a token for another audience is refused.
    audience: str
    # The address of its keys. Not every issuer serves them below its own name.
    jwks_url: str
    # The only algorithm that signatures may have.
    algorithm: str = "RS256"
    # The claim that names the tenant. A token without it is an operator's, if it has the scope of operators.
    tenant_claim: str = "postdate_tenant"
    # The claim of the scopes, a list or a text with spaces.
    scopes_claim: str = "scope"
    # Only scopes with this prefix count, without the prefix.
    scope_prefix: str = ""

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"{self.algorithm} is not one of {', '.join(sorted(ALGORITHMS))}")
        if not (self.issuer and self.audience):
            raise ValueError("an issuer needs a name and an audience")

    @classmethod
    def parse(cls, text: str) -> "Oidc | None":
        """Reads the setting; None for `none`. Raises ValueError and TypeError for a wrong text, so that a function with
        a wrong setting does not start."""
        return None if text == NOT_CONFIGURED else cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A person who shows a valid token."""

    # A hash of issuer and subject, so logs and histories name nobody.
    id: str
    # The tenant; None for an operator.
    tenant: str | None
    # The scopes of the token, without the prefix.
    scopes: frozenset[str]
    # The end of the token.
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class _Keys:
    # The usable keys by the `kid` that tokens name.
    by_id: Mapping[str, "PyJWK"]
    # The instant of the reading.
    read_at: datetime


def token_of(authorization: str) -> str | None:
    """The token in an Authorization header; None unless the text is a bearer's with three parts. Keys of ours have no
    point."""
    scheme, _, text = authorization.partition(" ")
    text = text.strip()
    is_token = scheme.lower() == "bearer" and text.count(".") == 2 and len(text) <= _CHARACTERS_MAX
    return text if is_token else None


class Issuer:
    """`fetch` reads a document, and raises OSError."""

    def __init__(self, given: Oidc, *, fetch: Callable[[str], bytes], clock: Clock) -> None:
        self._given = given
        self._fetch = fetch
        self._clock = clock
        self._keys: _Keys | None = None
        self._asked_at: datetime | None = None

    def person(self, token: str) -> Person | None:
        """The person whom a token names; None for a token that is not valid. Raises Unavailable if the issuer's keys
        are not known now."""
        # Imported at the first token: most copies of a function never see one.
        import jwt

        given = self._given
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(str(header.get("kid", "")))
            # The token must not choose the algorithm by which it is checked.
            if key is None or header.get("alg") != given.algorithm:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=[given.algorithm],
                audience=given.audience,
                issuer=given.issuer,
                options={
                    "require": list(_REQUIRED),
                    # Compared below, by the clock of this program.
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
        except jwt.PyJWTError:
            return None
        return self._person(claims) if _is_now(claims, self._clock.now()) else None

    def _person(self, claims: Mapping[str, Any]) -> Person | None:
        """The person whom claims name; None for claims of another form, or of neither a tenant nor an operator."""
        given = self._given
        tenant, told = claims.get(given.tenant_claim), claims.get(given.scopes_claim, "")
        if isinstance(told, str):
            told = told.split()
        if not isinstance(told, list) or not (tenant is None or (isinstance(tenant, str) and tenant)):
            return None
        named = {
            each.removeprefix(given.scope_prefix)
            for each in told
            if isinstance(each, str) and each.startswith(given.scope_prefix)
        }
        if tenant is None and OPS not in named:
            return None
        known = frozenset(OF_TENANTS) | ({OPS} if tenant is None else frozenset())
        subject = hashlib.sha256(f"{given.issuer}\n{claims['sub']}".encode()).hexdigest()
        return Person(
            id=f"oidc-{subject[:16]}",
            tenant=tenant,
            scopes=frozenset(named & known),
            until=datetime.fromtimestamp(claims["exp"], UTC),
        )

    def _key(self, id: str) -> "PyJWK | None":
        now, known = self._clock.now(), self._keys
        is_fresh = known is not None and now < known.read_at + KEPT
        if known is None or not is_fresh or id not in known.by_id:
            known = self._read(now) or known
        if known is None or now >= known.read_at + KEPT_WITHOUT_ANSWER:
            raise Unavailable("the keys of the issuer are not known")
        return known.by_id.get(id)

    def _read(self, now: datetime) -> _Keys | None:
        """Reads the keys of the issuer; None if the issuer did not answer, or was asked a moment ago."""
        if self._asked_at is not None and now < self._asked_at + ASKED_AGAIN_AFTER:
            return None
        # Noted before the question, so an issuer that does not answer is not asked again at once.
        self._asked_at = now
        try:
            found = _keys_in(self._fetch(self._given.jwks_url))
        except (OSError, ValueError) as error:
            logger.warning(
                "the keys of the issuer could not be read",
                extra={"action": "issuer_unread", "reason": type(error).__name__},
            )
            return None
        self._keys = _Keys(by_id=found, read_at=now)
        return self._keys


def person_by(setting: str, *, fetch: Callable[[str], bytes], clock: Clock) -> Callable[[str], Person | None]:
    """The function that tells who shows a token. Without an issuer it returns None for every token."""
    given = Oidc.parse(setting)
    return (lambda _: None) if given is None else Issuer(given, fetch=fetch, clock=clock).person


def _keys_in(document: bytes) -> dict[str, "PyJWK"]:
    """Raises ValueError. A key that this code cannot use is left out."""
    import jwt

    listed = json.loads(document)
    found = listed.get("keys") if isinstance(listed, dict) else None
    if not isinstance(found, list):
        raise ValueError("a set of keys has the list `keys`")
    keys: dict[str, PyJWK] = {}
    for each in found:
        # A key with a shared secret would make everybody who knows it an issuer.
        if not isinstance(each, dict) or each.get("kty") == "oct" or each.get("use", "sig") != "sig":
            continue
        try:
            keys[str(each.get("kid", ""))] = jwt.PyJWK.from_dict(each)
        except jwt.PyJWTError:
            continue
    return keys


def _is_now(claims: Mapping[str, Any], now: datetime) -> bool:
    instants = [claims["exp"], claims["iat"], claims.get("nbf", claims["iat"])]
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in instants):
        return False
    ends, made, begins = instants
    at, leeway = now.timestamp(), LEEWAY.total_seconds()
    lives_too_long = ends - made > LIFETIME_MAX.total_seconds()
    return bool(at < ends + leeway and max(made, begins) <= at + leeway and not lives_too_long)
