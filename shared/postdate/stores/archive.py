"""The objects of the archive: each is written once and never changed.

Every write carries `If-None-Match: *`, which the bucket's policy demands. S3 then refuses a key that exists.
"""

from typing import TYPE_CHECKING, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable

if TYPE_CHECKING:
    from botocore.client import BaseClient

_EXISTS: Final = "PreconditionFailed"


class Archive(Protocol):
    """Each call raises Unavailable."""

    def put(self, key: str, content: bytes) -> bool:
        """False if there is an object of this key, which stays as it is."""

    def get(self, key: str) -> bytes | None:
        """The object of this key; None if there is none."""

    def keys(self, prefix: str) -> list[str]:
        """The keys with this beginning, in their order."""

    def folders(self, prefix: str) -> list[str]:
        """The beginnings of keys up to the next stroke behind `prefix`, in their order."""


class S3Archive:
    def __init__(self, *, bucket: str, client: "BaseClient") -> None:
        self._bucket = bucket
        self._client = client

    def put(self, key: str, content: bytes) -> bool:
        try:
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content, IfNoneMatch="*")
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == _EXISTS:
                return False
            raise Unavailable(f"S3 did not take {key}: {error}") from error
        except BotoCoreError as error:
            raise Unavailable(f"{type(error).__name__} on {key}") from error
        return True

    def get(self, key: str) -> bytes | None:
        try:
            with self._client.get_object(Bucket=self._bucket, Key=key)["Body"] as body:
                return bytes(body.read())
        except self._client.exceptions.NoSuchKey:
            return None
        except (BotoCoreError, ClientError) as error:
            raise Unavailable(f"{type(error).__name__} on reading {key}") from error

    def keys(self, prefix: str) -> list[str]:
        return self._listed(prefix, "", "Contents", "Key")

    def folders(self, prefix: str) -> list[str]:
        return self._listed(prefix, "/", "CommonPrefixes", "Prefix")

    def _listed(self, prefix: str, delimiter: str, part: str, name: str) -> list[str]:
        found: list[str] = []
        after: dict[str, str] = {}
        while True:
            try:
                answer = self._client.list_objects_v2(
                    Bucket=self._bucket, Prefix=prefix, Delimiter=delimiter, **after
                )
            except (BotoCoreError, ClientError) as error:
                raise Unavailable(f"{type(error).__name__} on listing {prefix}") from error
            found += [each[name] for each in answer.get(part, ())]
            if not answer.get("IsTruncated"):
                return found
            after = {"ContinuationToken": answer["NextContinuationToken"]}


class MemoryArchive:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, key: str, content: bytes) -> bool:
        if key in self.objects:
            return False
        self.objects[key] = content
        return True

    def get(self, key: str) -> bytes | None:
        return self.objects.get(key)

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def folders(self, prefix: str) -> list[str]:
        behind = (key.removeprefix(prefix) for key in self.keys(prefix))
        return sorted({f"{prefix}{rest.partition('/')[0]}/" for rest in behind if "/" in rest})
