"""Makes, rotates and revokes a tenant's keys. No key gains a right that its maker does not have."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import ip_network

from functions.api import methods
from functions.api.caller import Caller
from functions.api.keys.forms import KeyForm
from postdate.domain import instants
from postdate.domain.errors import Conflict, Forbidden, InvalidState, NotFound, ValidationFailed
from postdate.domain.scopes import INTERNAL
from postdate.runtime.clock import Clock
from postdate.stores.api_key import ApiKey
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.key_text import bearer_text, new_id, new_secret
from postdate.stores.keys import Keys

_TRIES = 3
_PAYS = frozenset({"payments:write"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Granted:
    """A key and its text, which is told only now."""

    # The key.
    key: ApiKey
    # The text with the secret, which is in no table.
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyring:
    keys: Keys
    hashes: KeyHashes
    clock: Clock

    def make(self, caller: Caller, form: KeyForm) -> Granted:
        """A crash after the write leaves a key whose text nobody knows. It is listed and can be revoked."""
        now, id = self.clock.now(), new_id()
        secret = new_secret(id)
        key = ApiKey(
            id=id,
            secret_sha256=self.hashes.of(secret),
            tenant=caller.tenant,
            scopes=frozenset(form.scopes),
            accounts=None if form.account_ids is None else frozenset(form.account_ids),
            expires_at=None if form.expires_at is None else _second(form.expires_at),
            name=form.name,
            amount_max=form.amount_max,
            amount_per_day_max=form.amount_per_day_max,
            networks=None if form.networks is None else tuple(form.networks),
            actions=None if form.actions is None else frozenset(form.actions),
            read_only=form.read_only,
            requests_a_second=form.requests_per_second,
            made_by=caller.key_id,
            created_at=instants.whole(now),
        )
        if key.expires_at is not None and key.expires_at <= now:
            raise ValidationFailed([("expires_at", "is in the past")])
        _check_actions(key)
        refuse_more(caller, key)
        # An equal row is the work of our own first try, whose answer was lost.
        if not self.keys.add(key) and self.keys.get(id) != key:
            raise Conflict
        return Granted(key=key, text=bearer_text(id, secret))

    def find(self, caller: Caller, id: str) -> ApiKey:
        """A service's own token belongs to no tenant, whatever a tenant is called."""
        key = self.keys.get(id) if id.isalnum() and id.isascii() else None
        if key is None or key.tenant != caller.tenant or INTERNAL in key.scopes:
            raise NotFound(f"there is no key {id}")
        return key

    def rotate(self, caller: Caller, id: str, *, overlap: timedelta) -> Granted:
        """The key with a new secret. Its secret until now works on for the overlap; the one before that ends at once.

        Raises Forbidden for a key with more rights than its caller: the caller is told its new text.
        """
        for _ in range(_TRIES):
            key, now = self.find(caller, id), self.clock.now()
            if not key.is_live(now):
                raise InvalidState("REVOKED" if key.revoked_at else "EXPIRED", "the key no longer works")
            # The caller learns the new text, and with it all rights of the key.
            refuse_more(caller, key)
            secret = new_secret(id)
            after = replace(
                key,
                secret_sha256=self.hashes.of(secret),
                before_sha256=key.secret_sha256 if overlap else None,
                before_until=instants.whole(now + overlap) if overlap else None,
            )
            if self.keys.change(key, after) or self._is_written(after):
                return Granted(key=after, text=bearer_text(id, secret))
        raise Conflict

    def _is_written(self, after: ApiKey) -> bool:
        """The write was ours, and its answer was lost. A second rotation would end the secret that should overlap."""
        stored = self.keys.get(after.id)
        return stored is not None and stored.secret_sha256 == after.secret_sha256

    def revoke(self, caller: Caller, id: str) -> ApiKey:
        """Revokes a key for good. To revoke it twice is no error."""
        for _ in range(_TRIES):
            key, now = self.find(caller, id), instants.whole(self.clock.now())
            if key.revoked_at is not None:
                return key
            ended = _second(now) if key.expires_at is None else min(key.expires_at, _second(now))
            after = replace(key, revoked_at=now, expires_at=ended, before_sha256=None, before_until=None)
            if self.keys.change(key, after):
                return after
        raise Conflict


def refuse_more(caller: Caller, key: ApiKey) -> None:
    """Raises Forbidden if the key has any right that the caller does not have."""
    for field, exceeds in _compared(caller, key).items():
        if exceeds:
            raise Forbidden(f"the field {field} exceeds the rights of the key of this request")


def _compared(caller: Caller, key: ApiKey) -> dict[str, bool]:
    return {
        "scopes": not key.scopes <= caller.scopes,
        "account_ids": caller.accounts is not None
        and (key.accounts is None or not key.accounts <= caller.accounts),
        "amount_max": _exceeds(key.amount_max, caller.amount_max),
        # Two keys have twice the amount of one: a key with such a limit makes no key that pays.
        "amount_per_day_max": caller.amount_per_day_max is not None
        and key.id != caller.key_id
        and bool(key.scopes & _PAYS),
        "networks": caller.networks is not None
        and (key.networks is None or not _within(key.networks, caller.networks)),
        "actions": caller.actions is not None and (key.actions is None or not key.actions <= caller.actions),
        "read_only": caller.read_only and not key.read_only,
        # Two keys have twice the requests of one.
        "requests_per_second": caller.requests_a_second is not None and key.id != caller.key_id,
        "expires_at": _later(key.expires_at, caller.expires_at),
    }


def _check_actions(key: ApiKey) -> None:
    unknown = (key.actions or frozenset()) - methods.operations_with_a_key()
    if unknown:
        raise ValidationFailed([("actions", f"{', '.join(sorted(unknown))}: no such operation")])


def _exceeds(given: int | None, most: int | None) -> bool:
    return most is not None and (given is None or given > most)


def _later(given: datetime | None, last: datetime | None) -> bool:
    return last is not None and (given is None or given > last)


def _within(given: tuple[str, ...], allowed: tuple[str, ...]) -> bool:
    outer = [ip_network(each) for each in allowed]
    return all(
        any(inner.version == each.version and inner.subnet_of(each) for each in outer)  # type: ignore[arg-type]
        for inner in map(ip_network, given)
    )


def _second(instant: datetime) -> datetime:
    """Rows keep the expiry in whole seconds: DynamoDB deletes them by it."""
    return instant.replace(microsecond=0)
