"""Turns claimed tasks into deliveries and puts them on their way."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from postdate.domain.errors import Unavailable
from postdate.domain.task import Task
from postdate.stores.payloads import Payloads
from postdate.stores.tenants import Tenant
from postdate.targets.base import Delivery, Failed, Report, Target


class Deliveries:
    """`seconds_left` says how long this worker lives: no delivery may outlive it."""

    def __init__(
        self,
        *,
        targets: Mapping[str, Target],
        payloads: Payloads,
        tenant: Callable[[str], Tenant | None],
        seconds_left: Callable[[], float],
    ) -> None:
        self._targets = targets
        self._payloads = payloads
        self._tenant = tenant
        self._seconds_left = seconds_left
        self._texts: dict[str, str] = {}

    def prefetch(self, tasks: Iterable[Task]) -> None:
        """Reads the payloads that have rows of their own while there is still time until the instant."""
        keys = {task.payload.key for task in tasks if task.payload.key is not None} - self._texts.keys()
        if keys:
            self._texts |= self._payloads.get_many(keys)

    def start(self, tasks: Sequence[Task], report: Report) -> None:
        """A task whose payload or tenant cannot be read has failed this attempt like any other."""
        ready: dict[str, list[Delivery]] = {}
        for task in tasks:
            try:
                tenant = self._tenant(task.tenant) or Tenant(id=task.tenant)
                self.prefetch([task])
            except Unavailable:
                tenant = None
            key = task.payload.key
            text = task.payload.text if key is None else self._texts.get(key)
            type_name = task.destination.type
            if tenant is None or (key is not None and text is None):
                lost = self._delivery(task, Tenant(id=task.tenant), "")
                report(lost, Failed(reason="its payload or its tenant's settings could not be read"))
            elif type_name not in self._targets:
                report(self._delivery(task, tenant, ""), Failed(reason=f"no way to a {type_name} is known"))
            else:
                ready.setdefault(type_name, []).append(self._delivery(task, tenant, text or ""))
        for type_name, deliveries in ready.items():
            self._targets[type_name].start(deliveries, report)

    def _delivery(self, task: Task, tenant: Tenant, text: str) -> Delivery:
        return Delivery(
            run_id=task.id,
            task_id=task.id,
            tenant=task.tenant,
            attempt=task.attempts,
            token=task.token,
            planned_at=task.planned_at,
            timeout_seconds=max(1.0, min(task.timeout_seconds, self._seconds_left())),
            destination=task.destination,
            payload=text.encode(),
            signing_secrets=tenant.signing_secrets,
            queues_allowed=tenant.queue_urls,
        )
