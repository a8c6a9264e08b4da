"""Payloads that tenants keep themselves: their bucket, and the threads that read it. Both outlive a batch."""

import json
from concurrent.futures import Executor
from dataclasses import dataclass

from postdate.domain.payload_ref import object_of
from postdate.domain.task import Task
from postdate.stores.objects import Objects, UnreadableObject
from postdate.targets.base import Failed


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnPayloads:
    # The bucket with one prefix for each tenant.
    bucket: str
    # The reader of objects, with the rights of one tenant at a time.
    objects: Objects
    # The threads that read: nobody else waits for a slow object.
    readers: Executor

    def read(self, task: Task) -> bytes | Failed:
        """The payload of a task that names an object, or the reason why the call cannot be made."""
        name = object_of(task.payload.ref or "", bucket=self.bucket, tenant=task.tenant)
        if name is None:
            return Failed(reason="the payload is not inside the tenant's prefix", retry=False)
        found = self.objects.read(task.tenant, name)
        if isinstance(found, UnreadableObject):
            return Failed(reason=found.why, retry=not found.final)
        return found if _is_json(found) else Failed(reason="the payload is not JSON in UTF-8", retry=False)


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)
