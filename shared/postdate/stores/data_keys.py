"""Data keys: one for each owner, 64 random bytes. A row holds the key wrapped by the environment's key in AWS KMS.

An owner is a tenant, or the service itself for the hashes of API keys. KMS checks the owner: the wrapped key of one
owner cannot be opened as that of another.
"""

import base64
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.attributes import UnicodeAttribute
from pynamodb.exceptions import DoesNotExist, PutError

from postdate.domain.errors import SecretBroken, Unavailable
from postdate.stores.faults import is_refused, translated
from postdate.stores.rows import Row, table_rows

if TYPE_CHECKING:
    from botocore.client import BaseClient

KEY_BYTES: Final = 64
_TAMPERED: Final = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})


class DataKeys(Protocol):
    def get(self, owner: str) -> bytes | None:
        """None if the owner has none. Raises Unavailable, and SecretBroken for a row that does not open."""
        ...

    def provide(self, owner: str) -> bytes:
        """The owner's key, made now if there is none. Of two that are made at once, one is stored and both callers get
        that one."""
        ...


class _Row(Row):
    owner = UnicodeAttribute(hash_key=True)
    wrapped = UnicodeAttribute()


class KmsDataKeys:
    """`kms` makes the client at the first use: most copies of a function need it once or never."""

    def __init__(
        self, *, table: str, client: "BaseClient | None" = None, kms: Callable[[], Any], key_id: str
    ) -> None:
        self._rows = table_rows(_Row, table, client)
        self._kms = kms
        self._key_id = key_id

    def get(self, owner: str) -> bytes | None:
        with translated():
            try:
                row = self._rows.get(owner, consistent_read=True)
            except DoesNotExist:
                return None
        opened = self._asked(
            "decrypt", owner, KeyId=self._key_id, CiphertextBlob=base64.b64decode(row.wrapped)
        )
        return bytes(opened["Plaintext"])

    def provide(self, owner: str) -> bytes:
        known = self.get(owner)
        if known is not None:
            return known
        made = self._asked("generate_data_key", owner, KeyId=self._key_id, NumberOfBytes=KEY_BYTES)
        wrapped = base64.b64encode(made["CiphertextBlob"]).decode()
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
        return bytes(made["Plaintext"])

    def _asked(self, operation: str, owner: str, **given: Any) -> dict[str, Any]:
        """Calls KMS. Raises Unavailable for every refusal: a disabled key or a missing right is a fault of the
        environment, not of an item, so the caller asks again later."""
        try:
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


class MemoryDataKeys:
    def __init__(self) -> None:
        self.keys = dict[str, bytes]()

    def get(self, owner: str) -> bytes | None:
        return self.keys.get(owner)

    def provide(self, owner: str) -> bytes:
        return self.keys.setdefault(owner, secrets.token_bytes(KEY_BYTES))
