"""Reports of reconciliations, and their working papers, as JSON objects."""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable
from postdate.domain.reconciling import ArchiveRun

if TYPE_CHECKING:
    from botocore.client import BaseClient


# Written by each run of the archive that looked at all feeds.
_ARCHIVE_RUN: Final = "archive/newest.json"


def note_archive(reports: "Reports", run: ArchiveRun) -> None:
    """Raises Unavailable."""
    reports.put(_ARCHIVE_RUN, {"finished_at": run.finished_at.isoformat(), "failed": list(run.failed)})


def noted_archive(reports: "Reports") -> ArchiveRun | None:
    """The newest run of the archive; None before the first run. Raises Unavailable."""
    found = reports.get(_ARCHIVE_RUN)
    if found is None:
        return None
    return ArchiveRun(finished_at=datetime.fromisoformat(found["finished_at"]), failed=tuple(found["failed"]))


class Reports(Protocol):
    """Each call raises Unavailable."""

    def put(self, name: str, value: Any) -> None: ...

    def get(self, name: str) -> Any:
        """The object of this name; None if there is none."""

    def names(self, prefix: str) -> list[str]: ...


class S3Reports:
    def __init__(self, *, bucket: str, client: "BaseClient") -> None:
        self._bucket = bucket
        self._client = client

    def put(self, name: str, value: Any) -> None:
        body = json.dumps(value, separators=(",", ":")).encode()
        self._call("put_object", Key=name, Body=body, ContentType="application/json")

    def get(self, name: str) -> Any:
        try:
            with self._client.get_object(Bucket=self._bucket, Key=name)["Body"] as body:
                return json.loads(body.read())
        except self._client.exceptions.NoSuchKey:
            return None
        except (BotoCoreError, ClientError) as error:
            raise Unavailable(f"{type(error).__name__} on reading {name}") from error

    def names(self, prefix: str) -> list[str]:
        found: list[str] = []
        after: dict[str, str] = {}
        while True:
            answer = self._call("list_objects_v2", Prefix=prefix, **after)
            found += [each["Key"] for each in answer.get("Contents", ())]
            if not answer.get("IsTruncated"):
                return found
            after = {"ContinuationToken": answer["NextContinuationToken"]}

    def _call(self, operation: str, **given: Any) -> Any:
        try:
            return getattr(self._client, operation)(Bucket=self._bucket, **given)
        except (BotoCoreError, ClientError) as error:
            raise Unavailable(f"{type(error).__name__} on {operation}") from error


class MemoryReports:
    def __init__(self) -> None:
        self.objects: dict[str, str] = {}

    def put(self, name: str, value: Any) -> None:
        self.objects[name] = json.dumps(value)

    def get(self, name: str) -> Any:
        text = self.objects.get(name)
        return None if text is None else json.loads(text)

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix))
