"""Data keys: one for each owner, 64 random bytes. A row holds the key wrapped by the environment's key in AWS KMS.

The key of an owner can be replaced. The row then holds the new key beside those before, which still open what they
sealed, and the instant from which the new key seals. Until then every copy of a function has read the row again.

An owner is a tenant, the archive of a tenant (`archive/<tenant>`), or the service itself for the hashes of API keys
(`@keys`). KMS checks the owner: the wrapped key of one owner cannot be opened as that of another.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.attributes import UnicodeAttribute
from pynamodb.exceptions import DoesNotExist, PutError

from postdate.domain import instants
from postdate.domain.errors import Conflict, InvalidState, NotFound, SecretBroken, Unavailable
from postdate.stores.faults import is_refused, translated
from postdate.stores.rows import Row, table_rows

if TYPE_CHECKING:
    from botocore.client import BaseClient

KEY_BYTES: Final = 64
# KMS answers so if the wrapped key or its owner was changed, or another key wrapped it.
_TAMPERED: Final = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})


@dataclass(frozen=True, kw_only=True, slots=True)
class DataKey:
    """A data key of one owner, unwrapped."""

    # KEY_BYTES random bytes.
    key: bytes
    # The instant from which it seals; None for the first key, which seals until a later one does.
    seals_from: datetime | None = None


class DataKeys(Protocol):
    def get(self, owner: str) -> bytes | None:
        """The owner's first key; None if there is none. Raises Unavailable, and SecretBroken for a row that does not
        open."""
        ...

    def all(self, owner: str) -> tuple[DataKey, ...]:
        """The owner's keys, the oldest first; empty if there is none. Raises as `get` does."""
        ...

    def replace(self, owner: str, *, seals_from: datetime, now: datetime) -> None:
        """Adds a key that seals from that instant. Raises NotFound for an owner without a key, InvalidState while the
        last replacement has not begun to seal, Conflict if another one came first, and Unavailable.

        `seals_from` must be so late that every copy of a function has read the row again by then."""
        ...

    def provide(self, owner: str) -> bytes:
        """The owner's first key, made now if there is none. If two callers make one at once, one key is stored and both
        callers get it."""
        ...


class _Row(Row):
    owner = UnicodeAttribute(hash_key=True)
    wrapped = UnicodeAttribute()
    # Later keys, the oldest first, as pairs of milliseconds and wrapped key. Older releases read `wrapped` only.
    later = UnicodeAttribute(null=True)


class KmsDataKeys:
    """`kms` makes the client at the first use: most copies of a function need it once or never."""

    def __init__(
        self, *, table: str, client: "BaseClient | None" = None, kms: Callable[[], Any], key_id: str
    ) -> None:
        self._rows = table_rows(_Row, table, client)
        self._kms = kms
        self._key_id = key_id

    def get(self, owner: str) -> bytes | None:
        row = self._row(owner)
        return None if row is None else self._opened(owner, row.wrapped)

    def all(self, owner: str) -> tuple[DataKey, ...]:
        row = self._row(owner)
        if row is None:
            return ()
        return (
            DataKey(key=self._opened(owner, row.wrapped)),
            *(
                DataKey(key=self._opened(owner, wrapped), seals_from=instants.from_milliseconds(at))
                for at, wrapped in _later(row)
            ),
        )

    def replace(self, owner: str, *, seals_from: datetime, now: datetime) -> None:
        row = self._row(owner)
        if row is None:
            raise NotFound(f"{owner} has no data key")
        before, at = _later(row), instants.milliseconds(seals_from)
        if before and before[-1][0] > instants.milliseconds(now):
            raise not_begun(owner)
        _, wrapped = self._made(owner)
        # Of two replacements at once the slower one fails. Otherwise it would drop the key of the other.
        later: Any = self._rows.later
        unchanged = later == row.later if row.later else later.does_not_exist()
        text = json.dumps([*before, [at, wrapped]], separators=(",", ":"))
        with translated():
            try:
                self._rows(owner=owner, wrapped=row.wrapped, later=text).save(
                    condition=(self._rows.wrapped == row.wrapped) & unchanged
                )
            except PutError as error:
                if not is_refused(error):
                    raise
                raise Conflict from error

    def provide(self, owner: str) -> bytes:
        known = self.get(owner)
        if known is not None:
            return known
        made, wrapped = self._made(owner)
        with translated():
            try:
                row = self._rows(owner=owner, wrapped=wrapped)
                row.save(condition=self._rows.owner.does_not_exist())
            except PutError as error:
                if not is_refused(error):
                    raise
                # Also the answer to a write of ours whose first answer was lost: the stored key is the one that counts.
                stored = self.get(owner)
                if stored is None:
                    raise Unavailable("a data key vanished") from error
                return stored
        return made

    def _row(self, owner: str) -> _Row | None:
        with translated():
            try:
                return self._rows.get(owner, consistent_read=True)
            except DoesNotExist:
                return None

    def _opened(self, owner: str, wrapped: str) -> bytes:
        blob = base64.b64decode(wrapped)
        return bytes(self._asked("decrypt", owner, KeyId=self._key_id, CiphertextBlob=blob)["Plaintext"])

    def _made(self, owner: str) -> tuple[bytes, str]:
        """A new key, and the same key wrapped."""
        made = self._asked("generate_data_key", owner, KeyId=self._key_id, NumberOfBytes=KEY_BYTES)
        return bytes(made["Plaintext"]), base64.b64encode(made["CiphertextBlob"]).decode()

    def _asked(self, operation: str, owner: str, **given: Any) -> dict[str, Any]:
        """Calls KMS. Raises Unavailable for every refusal: a disabled key or a missing right is a fault of the
        environment, not of an item, so the caller asks again later."""
        try:
            # KMS opens the key only for the owner that it was wrapped for.
            answer: dict[str, Any] = getattr(self._kms(), operation)(
                EncryptionContext={"owner": owner}, **given
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in _TAMPERED:
                raise SecretBroken(f"the data key of {owner} does not open") from error
            raise Unavailable(code) from error
        except BotoCoreError as error:
            raise Unavailable(type(error).__name__) from error
        return answer


def not_begun(owner: str) -> InvalidState:
    return InvalidState("REPLACED", f"the last replacement of the data key of {owner} has not begun to seal")


def _later(row: _Row) -> list[list[Any]]:
    found: list[list[Any]] = json.loads(row.later) if row.later else []
    return found
