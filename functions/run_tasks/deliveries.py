"""Turns claimed tasks into deliveries and puts them on their way."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

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
        self._asked: set[str] = set()
        self._tenants: dict[str, Tenant] = {}
        self._texts: dict[str, str] = {}

    def prefetch(self, tasks: Iterable[Task]) -> None:
        """Reads what deliveries need beside their tasks while there is still time until the instant.

        Each thing is asked for once a batch: what cannot be read does not hold up the others again and again.
        """
        given = list(tasks)
        for tenant in {task.tenant for task in given} - self._asked:
            with suppress(Unavailable):
                self._tenants[tenant] = self._tenant(tenant) or Tenant(id=tenant)
        keys = {task.payload.key for task in given if task.payload.key is not None} - self._asked
        if keys:
            with suppress(Unavailable):
                self._texts |= self._payloads.get_many(keys)
        self._asked |= keys | {task.tenant for task in given}

    def start(self, tasks: Sequence[Task], report: Report) -> None:
        """A task that cannot be put on its way has failed this attempt like any other."""
        self.prefetch(tasks)
        ready: dict[str, list[Delivery]] = {}
        for task in tasks:
            type_name, tenant, text = task.destination.type, self._tenants.get(task.tenant), self._text(task)
            delivery = self._delivery(task, tenant or Tenant(id=task.tenant), text or "")
            if tenant is None or text is None:
                report(delivery, Failed(reason="its payload or its tenant's settings could not be read"))
            elif type_name not in self._targets:
                report(delivery, Failed(reason=f"no way to a {type_name} is known"))
            else:
                ready.setdefault(type_name, []).append(delivery)
        for type_name, deliveries in ready.items():
            self._targets[type_name].start(deliveries, report)

    def _text(self, task: Task) -> str | None:
        key = task.payload.key
        return (task.payload.text or "") if key is None else self._texts.get(key)

    def _delivery(self, task: Task, tenant: Tenant, text: str) -> Delivery:
        return Delivery(
            run_id=task.id,
            task_id=task.task_id,
            tenant=task.tenant,
            attempt=task.attempts,
            token=task.token,
            planned_at=task.planned_at,
            timeout_seconds=max(1.0, min(task.timeout_seconds, self._seconds_left())),
            destination=task.destination,
            payload=text.encode(),
            signing_secrets=tenant.signing_secrets,
            queues_allowed=tenant.queue_urls,
            buses_allowed=tenant.buses,
            ack=task.ack,
        )
