"""API keys: `pd_<key id>_<secret><checksum>`. Only a keyed hash of the secret part is stored (see `key_hashes`).

The checksum lets a scanner tell a leaked key from a text that only looks like one, and lets the API refuse a mistyped
key without reading a row. Keys of older releases have none; the length tells them apart.
"""

import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pynamodb.attributes import BooleanAttribute, ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist, PutError, UpdateError
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection

from postdate.domain import instants
from postdate.domain.scopes import INTERNAL as INTERNAL
from postdate.domain.scopes import OPS as OPS
from postdate.runtime.author import nobody
from postdate.stores import batch_get, notes
from postdate.stores.faults import is_refused, translated
from postdate.stores.key_hashes import KeyHashes, is_keyed
from postdate.stores.notes import Note
from postdate.stores.rows import Row, TableConnection, readable, speak_through, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient

_PREFIX: Final = "pd"
_SECRET_BYTES: Final = 32
_SECRET_CHARACTERS: Final = 43
_CHECKSUM_CHARACTERS: Final = 6
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """A key and its rights. A key with the scope INTERNAL is another service's, and good for nothing else."""

    # The public part of the key's text.
    id: str
    # The keyed hash of the secret, an HMAC with SHA-256; of older releases SHA-256 alone.
    secret_sha256: str
    # The owner; None for an operator's key, which names a tenant in each request.
    tenant: str | None
    # The groups of operations that it may ask for.
    scopes: frozenset[str]
    # The accounts that it may pay from and administer; None for all.
    accounts: frozenset[str] | None = None
    # The instant from which it is refused; None for a key that does not expire.
    expires_at: datetime | None = None
    # The owner's name for it; empty if none was given.
    name: str = ""
    # The greatest amount of one payment; None without a limit.
    amount_max: int | None = None
    # The greatest sum of payments on a UTC day; None without a limit.
    amount_per_day_max: int | None = None
    # The CIDR blocks that its requests may come from; None for anywhere.
    networks: tuple[str, ...] | None = None
    # The only operations of the API that it may ask for, by their names; None for all of its scopes.
    actions: frozenset[str] | None = None
    # True if it may ask for no operation that writes, whatever its scopes say.
    read_only: bool = False
    # The limit of all its requests; None for no limit of its own.
    requests_a_second: int | None = None
    # The hash of the secret before the last rotation; None without a rotation.
    before_sha256: str | None = None
    # The instant until which that secret is accepted; None without a rotation.
    before_until: datetime | None = None
    # The id of the key that made it; empty for a key of the command line.
    made_by: str = ""
    # The instant at which it was made; None for keys of releases that did not keep it.
    created_at: datetime | None = None
    # The last use, up to a minute old; None if it was never used.
    last_used_at: datetime | None = None
    # The instant of the revocation, set once: `expires_at` is then no later. None before.
    revoked_at: datetime | None = None

    @property
    def prefix(self) -> str:
        """The beginning of the key's text. It is no secret and leads to the key."""
        return f"{_PREFIX}_{self.id}"

    def accepts(self, secret: str, *, now: datetime, hashes: KeyHashes) -> bool:
        """True if the key has not expired and the secret fits: the current one, or the one before the last rotation
        within the overlap. Raises Unavailable if that cannot be told now."""
        fits = hashes.fits(self.secret_sha256, secret)
        if self.before_sha256 is not None and self.before_until is not None and now < self.before_until:
            fits |= hashes.fits(self.before_sha256, secret)
        return fits and self.is_live(now)

    def keyed(self, secret: str, hashes: KeyHashes) -> "ApiKey":
        """The key with a keyed hash of a secret that it accepted, in place of one of an older release. Raises
        Unavailable."""

        def kept(stored: str) -> str:
            is_old = not is_keyed(stored) and hashes.fits(stored, secret)
            return hashes.of(secret) if is_old else stored

        before = self.before_sha256
        return replace(
            self,
            secret_sha256=kept(self.secret_sha256),
            before_sha256=None if before is None else kept(before),
        )

    def is_live(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def is_usable_from(self, address: str) -> bool:
        if self.networks is None:
            return True
        try:
            sender = ip_address(address)
        except ValueError:
            return False
        return any(sender in ip_network(network) for network in self.networks)


def new_id() -> str:
    return secrets.token_hex(8)


def new_secret(key_id: str) -> str:
    """A new random secret, with its checksum."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return secret + _checksum(bearer_text(key_id, secret))


def bearer_text(key_id: str, secret: str) -> str:
    return f"{_PREFIX}_{key_id}_{secret}"


def split(bearer: str) -> tuple[str, str] | None:
    """Key id and secret, or None when the text is no key of ours."""
    prefix, _, rest = bearer.partition("_")
    key_id, _, secret = rest.partition("_")
    known = (
        prefix == _PREFIX and key_id.isalnum() and key_id.isascii() and secret != "" and len(bearer) <= 256
    )
    return (key_id, secret) if known and _is_whole(bearer, secret) else None


def _is_whole(bearer: str, secret: str) -> bool:
    """False for a text with a wrong checksum. Texts of another length were made without one."""
    if len(secret) != _SECRET_CHARACTERS + _CHECKSUM_CHARACTERS:
        return True
    return bearer[-_CHECKSUM_CHARACTERS:] == _checksum(bearer[:-_CHECKSUM_CHARACTERS])


def _checksum(text: str) -> str:
    """CRC-32 in six digits of base 62, as other services' keys have it."""
    left, digits = zlib.crc32(text.encode()), ""
    for _ in range(_CHECKSUM_CHARACTERS):
        left, digit = divmod(left, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def parts_of(authorization: str) -> tuple[str, str] | None:
    """Key id and secret in an Authorization header; None unless it is a bearer's and of the form of our keys."""
    scheme, _, bearer = authorization.partition(" ")
    return split(bearer.strip()) if scheme.lower() == "bearer" else None


class Shown(NamedTuple):
    """A key that is good now, and the secret that it was shown with."""

    key: ApiKey
    secret: str


def shown(
    authorization: str, key: Callable[[str], ApiKey | None], *, now: datetime, hashes: KeyHashes
) -> Shown | None:
    """The key that an Authorization header shows; None unless it is a bearer's, known, and good now."""
    parts = parts_of(authorization)
    found = None if parts is None else key(parts[0])
    if parts is None or found is None or not found.accepts(parts[1], now=now, hashes=hashes):
        return None
    return Shown(found, parts[1])


class Keys(Protocol):
    def get(self, id: str) -> ApiKey | None: ...

    def put(self, key: ApiKey) -> None:
        """Whole, whatever is there."""
        ...

    def add(self, key: ApiKey) -> bool:
        """False if there is a key of that id already."""
        ...

    def change(self, before: ApiKey, after: ApiKey) -> bool:
        """Writes the secrets, the expiry and the revocation of `after`. False if the key changed since `before`."""
        ...

    def spend(self, id: str, amount: int, *, most: int, day: str) -> bool:
        """Counts the amount for that day. False, and nothing is counted, if the day's sum would exceed `most`."""
        ...

    def give_back(self, id: str, amount: int, *, day: str) -> None:
        """Takes the amount off the sum of that day, unless another day has begun or the sum changes at that moment:
        then the amount stays counted. A repeated request takes nothing off twice."""
        ...

    def use(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        """Notes that the key was used, unless a use since the second instant is noted."""
        ...

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        """Ids of the tenant's keys behind that one, in order. A key made just now may be missing."""
        ...

    def some(self, ids: Sequence[str]) -> dict[str, ApiKey]: ...


class _ByTenant(GlobalSecondaryIndex["_Row"]):  # type: ignore[no-untyped-call]
    """Written when a key is made and when it goes: neither its use nor its rotation touches it."""

    class Meta:
        index_name = "by_tenant"
        projection = KeysOnlyProjection()

    tenant = UnicodeAttribute(hash_key=True)
    key_id = UnicodeAttribute(range_key=True)


class _Row(Row):
    key_id = UnicodeAttribute(hash_key=True)
    secret_sha256 = UnicodeAttribute()
    tenant = UnicodeAttribute(null=True)
    operator = BooleanAttribute(null=True)
    scopes: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute)
    accounts: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    expires_at = NumberAttribute(null=True)
    name = UnicodeAttribute(null=True)
    amount_max = NumberAttribute(null=True)
    amount_per_day_max = NumberAttribute(null=True)
    networks: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    actions: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    read_only = BooleanAttribute(null=True)
    requests_a_second = NumberAttribute(null=True)
    before_sha256 = UnicodeAttribute(null=True)
    before_until = NumberAttribute(null=True)
    made_by = UnicodeAttribute(null=True)
    created_at = NumberAttribute(null=True)
    last_used_at = NumberAttribute(null=True)
    revoked_at = NumberAttribute(null=True)
    spent_on = UnicodeAttribute(null=True)
    spent = NumberAttribute(null=True)
    events = NumberAttribute(null=True)
    note = UnicodeAttribute(null=True)
    by_tenant = _ByTenant()


# The attributes that a change writes, and those that it compares.
_CHANGED: Final = ("secret_sha256", "before_sha256", "before_until", "expires_at", "revoked_at")


class DynamoKeys:
    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient | None" = None,
        author: Callable[[], str] = nobody,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`author` and the instant `now` are noted in changes that are told as events."""

        class Rows(_Row):
            class Meta(TableConnection):
                table_name = table

            by_tenant = _ByTenant()

        speak_through(Rows, client)
        self._rows = Rows
        self._author = author
        self._now = now

    def get(self, id: str) -> ApiKey | None:
        with translated():
            try:
                # A new key works at once, and one that was revoked is not read from a copy that is behind.
                row = self._rows.get(id, consistent_read=True)
            except DoesNotExist:
                return None
        return the_one(row, _key_of)

    def put(self, key: ApiKey) -> None:
        with translated():
            self._row(key).save()

    def add(self, key: ApiKey) -> bool:
        with translated():
            try:
                self._row(key).save(condition=self._rows.key_id.does_not_exist())
            except PutError as error:
                if not is_refused(error):
                    raise
                return False
        return True

    def change(self, before: ApiKey, after: ApiKey) -> bool:
        old, new = _values(before), _values(after)
        unchanged: Any = self._rows.key_id.exists()
        actions = list[Any]()
        for name in _CHANGED:
            attribute = getattr(self._rows, name)
            unchanged &= attribute.does_not_exist() if old[name] is None else attribute == old[name]
            actions.append(attribute.remove() if new[name] is None else attribute.set(new[name]))
        if told := _told(before, after):
            note = Note(type=told, at=self._now(), by=self._author())
            actions += [self._rows.events.add(1), self._rows.note.set(notes.text_of([note]))]
        return self._written(after.id, actions, unchanged)

    def spend(self, id: str, amount: int, *, most: int, day: str) -> bool:
        spent, spent_on, room = self._rows.spent, self._rows.spent_on, most - amount
        if room < 0:
            return False
        # A worker whose clock is behind adds to the day that others have begun.
        more: Any = self._rows.key_id.exists() & (spent_on >= day) & (spent <= room)
        anew: Any = self._rows.key_id.exists() & (spent_on.does_not_exist() | (spent_on < day))
        return (
            self._written(id, [spent.add(amount)], more)
            or self._written(id, [spent.set(amount), spent_on.set(day)], anew)
            or self._written(id, [spent.add(amount)], more)
        )

    def give_back(self, id: str, amount: int, *, day: str) -> None:
        with translated():
            try:
                row = self._rows.get(
                    id, consistent_read=True, attributes_to_get=["key_id", "spent", "spent_on"]
                )
            except DoesNotExist:
                return
        if row.spent_on == day:
            spent: Any = self._rows.spent
            unchanged: Any = (self._rows.spent_on == day) & (spent == row.spent)
            self._written(id, [spent.set(int(row.spent or 0) - amount)], unchanged)

    def use(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        last_used_at: Any = self._rows.last_used_at
        before = last_used_at.does_not_exist() | (last_used_at < instants.milliseconds(unless_since))
        self._written(id, [last_used_at.set(instants.milliseconds(at))], self._rows.key_id.exists() & before)

    def _written(self, id: str, actions: Sequence[Any], condition: Any) -> bool:
        """False if the condition does not hold."""
        with translated():
            try:
                self._rows(key_id=id).update(list(actions), condition=condition)
            except UpdateError as error:
                if not is_refused(error):
                    raise
                return False
        return True

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        behind = self._rows.key_id > after if after else None
        with translated():
            return [row.key_id for row in self._rows.by_tenant.query(tenant, behind, limit=limit)]

    def some(self, ids: Sequence[str]) -> dict[str, ApiKey]:
        rows = batch_get.models(self._rows, ({"key_id": {"S": id}} for id in dict.fromkeys(ids)))
        return {key.id: key for key in readable(rows, _key_of) if key is not None}

    def _row(self, key: ApiKey) -> _Row:
        note = Note(type="key.created", at=key.created_at or self._now(), by=self._author())
        return self._rows(key_id=key.id, **_values(key), events=1, note=notes.text_of([note]))


def _told(before: ApiKey, after: ApiKey) -> str | None:
    """The event of a change; None for another hash of the same secret, and for an end that is brought forward."""
    if after.revoked_at is not None:
        return "key.revoked" if before.revoked_at is None else None
    rehashed = is_keyed(after.secret_sha256) and not is_keyed(before.secret_sha256)
    moved = after.before_until != before.before_until
    if after.secret_sha256 == before.secret_sha256 or (rehashed and not moved):
        return None
    return "key.rotated"


def _values(key: ApiKey) -> dict[str, Any]:
    return {
        "secret_sha256": key.secret_sha256,
        "tenant": key.tenant,
        "operator": True if key.tenant is None else None,
        "scopes": sorted(key.scopes),
        "accounts": None if key.accounts is None else sorted(key.accounts),
        "expires_at": None if key.expires_at is None else int(key.expires_at.timestamp()),
        "name": key.name or None,
        "amount_max": key.amount_max,
        "amount_per_day_max": key.amount_per_day_max,
        "networks": None if key.networks is None else list(key.networks),
        "actions": None if key.actions is None else sorted(key.actions),
        "read_only": key.read_only or None,
        "requests_a_second": key.requests_a_second,
        "before_sha256": key.before_sha256,
        "before_until": _milliseconds(key.before_until),
        "made_by": key.made_by or None,
        "created_at": _milliseconds(key.created_at),
        "last_used_at": _milliseconds(key.last_used_at),
        "revoked_at": _milliseconds(key.revoked_at),
    }


def _key_of(row: _Row) -> ApiKey | None:
    # Only a key that says so is an operator's: a row that lost its tenant is nobody's.
    if (row.tenant is None) != bool(row.operator):
        return None
    return ApiKey(
        id=row.key_id,
        secret_sha256=row.secret_sha256,
        tenant=row.tenant,
        scopes=frozenset(row.scopes),
        accounts=None if row.accounts is None else frozenset(row.accounts),
        expires_at=None if row.expires_at is None else instants.from_milliseconds(int(row.expires_at) * 1000),
        name=row.name or "",
        amount_max=_whole(row.amount_max),
        amount_per_day_max=_whole(row.amount_per_day_max),
        networks=None if row.networks is None else tuple(row.networks),
        actions=None if row.actions is None else frozenset(row.actions),
        read_only=bool(row.read_only),
        requests_a_second=_whole(row.requests_a_second),
        before_sha256=row.before_sha256,
        before_until=_instant(row.before_until),
        made_by=row.made_by or "",
        created_at=_instant(row.created_at),
        last_used_at=_instant(row.last_used_at),
        revoked_at=_instant(row.revoked_at),
    )


def _milliseconds(instant: datetime | None) -> int | None:
    return None if instant is None else instants.milliseconds(instant)


def _instant(milliseconds: float | None) -> datetime | None:
    return None if milliseconds is None else instants.from_milliseconds(int(milliseconds))


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


class MemoryKeys:
    def __init__(self, *keys: ApiKey) -> None:
        self._keys = {key.id: key for key in keys}
        self._spent = dict[str, tuple[str, int]]()

    def get(self, id: str) -> ApiKey | None:
        return self._keys.get(id)

    def put(self, key: ApiKey) -> None:
        self._keys[key.id] = key

    def add(self, key: ApiKey) -> bool:
        return self._keys.setdefault(key.id, key) is key

    def change(self, before: ApiKey, after: ApiKey) -> bool:
        stored = self._keys.get(after.id)
        if stored is None or any(getattr(stored, name) != getattr(before, name) for name in _CHANGED):
            return False
        self._keys[after.id] = replace(stored, **{name: getattr(after, name) for name in _CHANGED})
        return True

    def spend(self, id: str, amount: int, *, most: int, day: str) -> bool:
        begun, spent = self._spent.get(id, ("", 0))
        counted = amount if begun < day else spent + amount
        if id not in self._keys or counted > most:
            return False
        self._spent[id] = (max(begun, day), counted)
        return True

    def give_back(self, id: str, amount: int, *, day: str) -> None:
        begun, spent = self._spent.get(id, ("", 0))
        if begun == day:
            self._spent[id] = (day, spent - amount)

    def use(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        key = self._keys.get(id)
        if key is not None and (key.last_used_at is None or key.last_used_at < unless_since):
            self._keys[id] = replace(key, last_used_at=at)

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        own = sorted(key.id for key in self._keys.values() if key.tenant == tenant and key.id > after)
        return own[:limit]

    def some(self, ids: Sequence[str]) -> dict[str, ApiKey]:
        return {id: self._keys[id] for id in ids if id in self._keys}
