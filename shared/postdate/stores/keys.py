"""API keys. Only a hash of the secret part is stored: `pd_<key id>_<secret>`."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from pynamodb.attributes import BooleanAttribute, ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist
from pynamodb.models import Model

from postdate.domain import instants
from postdate.stores.faults import translated
from postdate.stores.rows import Connection, speak_through

if TYPE_CHECKING:
    from botocore.client import BaseClient

INTERNAL: Final = "internal"
OPS: Final = "ops"
_PREFIX = "pd"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """`tenant` is None for an operator's key, which names the tenant it acts for in each request. `accounts`: those
    that it may pay from and administer; None for all. A key with the scope INTERNAL is another service's, and good for
    nothing else."""

    id: str
    secret_sha256: str
    tenant: str | None
    scopes: frozenset[str]
    accounts: frozenset[str] | None = None
    expires_at: datetime | None = None

    def accepts(self, secret: str, *, now: datetime) -> bool:
        """The secret fits and the key has not expired; compared in constant time."""
        fits = hmac.compare_digest(self.secret_sha256, hash_of(secret))
        return fits and (self.expires_at is None or now < self.expires_at)


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def bearer_text(key_id: str, secret: str) -> str:
    return f"{_PREFIX}_{key_id}_{secret}"


def split(bearer: str) -> tuple[str, str] | None:
    """Key id and secret, or None when the text is no key of ours."""
    prefix, _, rest = bearer.partition("_")
    key_id, _, secret = rest.partition("_")
    known = (
        prefix == _PREFIX and key_id.isalnum() and key_id.isascii() and secret != "" and len(bearer) <= 256
    )
    return (key_id, secret) if known else None


def shown(authorization: str, key: Callable[[str], ApiKey | None], *, now: datetime) -> ApiKey | None:
    """The key that an Authorization header shows; None unless it is a bearer's, known, and good now."""
    scheme, _, bearer = authorization.partition(" ")
    parts = split(bearer.strip()) if scheme.lower() == "bearer" else None
    found = None if parts is None else key(parts[0])
    return found if parts is not None and found is not None and found.accepts(parts[1], now=now) else None


class Keys(Protocol):
    def get(self, id: str) -> ApiKey | None: ...

    def put(self, key: ApiKey) -> None: ...


class _Row(Model):
    key_id = UnicodeAttribute(hash_key=True)
    secret_sha256 = UnicodeAttribute()
    tenant = UnicodeAttribute(null=True)
    operator = BooleanAttribute(null=True)
    scopes: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute)
    accounts: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    expires_at = NumberAttribute(null=True)


class DynamoKeys:
    def __init__(self, *, table: str, client: "BaseClient | None" = None) -> None:
        class Rows(_Row):
            class Meta(Connection):
                table_name = table

        speak_through(Rows, client)
        self._rows = Rows

    def get(self, id: str) -> ApiKey | None:
        with translated():
            try:
                # A new key works at once, and one that was revoked is not read from a copy that is behind.
                row = self._rows.get(id, consistent_read=True)
            except DoesNotExist:
                return None
        # Only a key that says so is an operator's: a row that lost its tenant is nobody's.
        if (row.tenant is None) != bool(row.operator):
            return None
        expires = None if row.expires_at is None else instants.from_milliseconds(int(row.expires_at) * 1000)
        return ApiKey(
            id=row.key_id,
            secret_sha256=row.secret_sha256,
            tenant=row.tenant,
            scopes=frozenset(row.scopes),
            accounts=None if row.accounts is None else frozenset(row.accounts),
            expires_at=expires,
        )

    def put(self, key: ApiKey) -> None:
        row = self._rows(
            key_id=key.id,
            secret_sha256=key.secret_sha256,
            tenant=key.tenant,
            operator=True if key.tenant is None else None,
            scopes=sorted(key.scopes),
            accounts=None if key.accounts is None else sorted(key.accounts),
            expires_at=None if key.expires_at is None else int(key.expires_at.timestamp()),
        )
        with translated():
            row.save()


class MemoryKeys:
    def __init__(self, *keys: ApiKey) -> None:
        self._keys = {key.id: key for key in keys}

    def get(self, id: str) -> ApiKey | None:
        return self._keys.get(id)

    def put(self, key: ApiKey) -> None:
        self._keys[key.id] = key
