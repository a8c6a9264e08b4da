"""Turns claimed tasks into deliveries and puts them on their way.

A payload that its tenant keeps is read when its run has been claimed, in a thread of its own: nobody else waits for it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from itertools import groupby

from postdate.domain.errors import Unavailable
from postdate.domain.payload_ref import object_of
from postdate.domain.task import Ack, Task
from postdate.stores.objects import Objects, Unreadable
from postdate.stores.payloads import Payloads
from postdate.stores.tenants import Tenant
from postdate.targets.base import Delivery, Failed, Report, Target, Untried, internal_error


class Deliveries:
    """`seconds_left` says how long this worker lives: no delivery may outlive it. `objects` and their `readers` outlive
    this batch; `bucket` is where they are."""

    def __init__(
        self,
        *,
        targets: Mapping[str, Target],
        payloads: Payloads,
        objects: Objects,
        bucket: str,
        readers: Executor,
        tenant: Callable[[str], Tenant | None],
        seconds_left: Callable[[], float],
        response_seconds_max: int,
    ) -> None:
        self._targets = targets
        self._payloads = payloads
        self._objects = objects
        self._bucket = bucket
        self._readers = readers
        self._tenant = tenant
        self._seconds_left = seconds_left
        self._response_seconds_max = response_seconds_max
        self._asked: set[str] = set()
        self._tenants: dict[str, Tenant] = {}
        self._texts: dict[str, str] = {}
        self._unread: set[str] = set()

    def prefetch(self, tasks: Iterable[Task]) -> None:
        """Reads what deliveries need beside their tasks, and builds their targets, while there is still time until the
        instant.

        Each thing is asked for once a batch: what cannot be read does not hold up the others again and again.
        """
        given = list(tasks)
        for name in {task.destination.type for task in given}:
            self._targets.get(name)
        for tenant in {task.tenant for task in given} - self._asked:
            with suppress(Unavailable):
                self._tenants[tenant] = self._tenant(tenant) or Tenant(id=tenant)
        keys = {task.payload.key for task in given if task.payload.key is not None} - self._asked
        if keys:
            try:
                self._texts |= self._payloads.get_many(keys)
            except Unavailable:
                self._unread |= keys
        self._asked |= keys | {task.tenant for task in given}

    def start(self, tasks: Sequence[Task], report: Report, *, unsent: Report) -> None:
        """A task that cannot be put on its way is told to `unsent`: its destination has no part in that, though some of
        the reasons are failures of the task's own."""
        self.prefetch(tasks)
        kept_by_tenants = sorted((task for task in tasks if task.payload.ref is not None), key=_task_id)
        for _, runs in groupby(kept_by_tenants, key=_task_id):
            # Together, for the runs of one task may have to keep their order.
            self._readers.submit(self._start, list(runs), self._read, report, unsent)
        self._start([task for task in tasks if task.payload.ref is None], self._payload, report, unsent)

    def _start(
        self,
        tasks: Sequence[Task],
        payload: Callable[[Task], bytes | Failed | Untried],
        report: Report,
        unsent: Report,
    ) -> None:
        ready: dict[str, list[Delivery]] = {}
        for task in tasks:
            tenant, given = self._tenants.get(task.tenant), _made(payload, task)
            content = given if isinstance(given, bytes) else b""
            delivery = self._delivery(task, tenant or Tenant(id=task.tenant), content)
            if tenant is None:
                unsent(delivery, Untried(reason="its tenant's settings could not be read"))
            elif not isinstance(given, bytes):
                unsent(delivery, given)
            elif task.destination.type not in self._targets:
                unsent(delivery, Failed(reason=f"no target for {task.destination.type} is known"))
            else:
                ready.setdefault(task.destination.type, []).append(delivery)
        for type_name, deliveries in ready.items():
            self._targets[type_name].start(deliveries, report)

    def _payload(self, task: Task) -> bytes | Failed | Untried:
        key = task.payload.key
        if key in self._unread:
            return Untried(reason="its payload could not be read")
        text = (task.payload.text or "") if key is None else self._texts.get(key)
        return Failed(reason="its payload could not be read") if text is None else text.encode()

    def _read(self, task: Task) -> bytes | Failed:
        name = object_of(task.payload.ref or "", bucket=self._bucket, tenant=task.tenant)
        if name is None:
            return Failed(reason="the payload is not inside the tenant's prefix", retry=False)
        found = self._objects.read(task.tenant, name)
        if isinstance(found, Unreadable):
            return Failed(reason=found.why, retry=not found.final)
        return found if _is_json(found) else Failed(reason="the payload is not JSON in UTF-8", retry=False)

    def _delivery(self, task: Task, tenant: Tenant, payload: bytes) -> Delivery:
        return Delivery(
            run_id=task.id,
            task_id=task.task_id,
            tenant=task.tenant,
            attempt=task.attempts,
            token=task.token,
            planned_at=task.planned_at,
            timeout_seconds=max(1.0, min(self._waits(task), self._seconds_left())),
            destination=task.destination,
            payload=payload,
            signing_secrets=tenant.signing_secrets,
            allowed=tenant.allowed(task.destination.type),
            ack=task.ack,
            depth=task.depth,
        )

    def _waits(self, task: Task) -> int:
        """For the answer to the delivery. With an explicit acknowledgement that is not the work itself, which has its
        whole timeout; a task that was registered with more for its answer, when that was allowed, keeps it."""
        if task.ack is Ack.RESPONSE:
            return task.timeout_seconds
        return min(task.timeout_seconds, self._response_seconds_max)


def _made(payload: Callable[[Task], bytes | Failed | Untried], task: Task) -> bytes | Failed | Untried:
    """Whoever is told nothing would wait for ever."""
    try:
        return payload(task)
    except Exception as error:
        return internal_error(error)


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _task_id(task: Task) -> str:
    return task.task_id
