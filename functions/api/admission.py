"""Decides for each request who calls. The gateway remembers the authorizer's answer and cannot forget it, so the key is
looked at again here: a key that was revoked, narrowed or replaced is another one within the time that a row is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from functions.api.caller import Caller
from postdate.domain.errors import Forbidden, Unauthenticated
from postdate.domain.scopes import OPS
from postdate.runtime.clock import Clock
from postdate.runtime.issuer import Person, token_of
from postdate.stores.api_key import ApiKey
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.key_text import Shown, accepted_key

TENANT_HEADER: Final = "Postdate-Tenant"


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """Admits the caller of a request, or refuses it."""

    # Finds a key by its id, as it was a short time ago at most.
    key: Callable[[str], ApiKey | None]
    # True for the name of a tenant.
    is_tenant: Callable[[str], bool]
    hashes: KeyHashes
    # Stores a keyed hash in place of one of an older release.
    keep: Callable[[Shown], None]
    # Counts a request of the key. Raises RateLimited beyond the limit of the key.
    count: Callable[[ApiKey], None]
    # The person who shows a token of the issuer; None for other tokens, and without an issuer.
    person: Callable[[str], Person | None]
    clock: Clock

    def caller(self, request_context: Mapping[str, Any], authorization: str, named: str | None) -> Caller:
        """The caller, for the tenant that its key belongs to or that the header `named`.

        Raises as `admit` does, and Forbidden for a tenant's key that names another tenant or an operator's key that
        names none that there is.
        """
        key = self.admit(request_context, authorization)
        if key.tenant is not None:
            if named not in (None, key.tenant):
                raise Forbidden("this key belongs to one tenant and may not act for another")
            return Caller.of(key, key.tenant)
        if not named or not self.is_tenant(named):
            raise Forbidden(f"the header {TENANT_HEADER} must name an existing tenant")
        return Caller.of(key, named)

    def operator(self, request_context: Mapping[str, Any], authorization: str) -> Caller:
        """An operator who acts for no tenant. Raises as `admit` does, and Forbidden for a key without the scope."""
        return Caller.of(self.admit(request_context, authorization), "").needs(OPS)

    def admit(self, request_context: Mapping[str, Any], authorization: str) -> ApiKey:
        """Raises Unauthenticated for a key that is not good now, Forbidden for one that is bound to other networks,
        RateLimited for one that has asked too often, and Unavailable if that cannot be told now."""
        if not _may_be_known(request_context):
            raise Unauthenticated
        if (token := token_of(authorization)) is not None:
            return self._signed_in(token)
        found = accepted_key(authorization, self.key, now=self.clock.now(), hashes=self.hashes)
        if found is None:
            raise Unauthenticated
        self.keep(found)
        key = found.key
        if not key.is_usable_from(str((request_context.get("http") or {}).get("sourceIp", ""))):
            raise Forbidden("this key may not be used from this network")
        # Last, so that refused requests do not use up the limit.
        self.count(key)
        return key

    def token_ends_at(self, authorization: str) -> datetime | None:
        """The end of the token that a person shows; None for a key. A token is checked again, so only the operation
        that tells this end asks for it."""
        token = token_of(authorization)
        person = None if token is None else self.person(token)
        return None if person is None else person.until

    def _signed_in(self, token: str) -> ApiKey:
        """The rights of a person, as a key that no table has. A key that the person makes may outlive the token: the
        end of a token is the end of a session, and not of a right."""
        person = self.person(token)
        if person is None:
            raise Unauthenticated
        return ApiKey(id=person.id, secret_sha256="", tenant=person.tenant, scopes=person.scopes)


def _may_be_known(request_context: Mapping[str, Any]) -> bool:
    """False for a key that the authorizer has found to be none of ours: no row is read for it. If the authorizer did
    not know, this function decides."""
    found = (request_context.get("authorizer") or {}).get("lambda") or {}
    return bool(found.get("key_id") or found.get("unavailable"))
