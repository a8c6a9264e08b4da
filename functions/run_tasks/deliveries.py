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
        keys = [task.payload.key for task in tasks if task.payload.key is not None]
        if keys:
            self._texts |= self._payloads.get_many(keys)

    def start(self, tasks: Sequence[Task], report: Report) -> None:
        for type_name in {task.destination.type for task in tasks}:
            ready = []
            for task in tasks:
                if task.destination.type != type_name:
                    continue
                text = self._text(task)
                delivery = self._delivery(task, text or "")
                if text is None:
                    report(delivery, Failed(reason="its payload could not be read"))
                else:
                    ready.append(delivery)
            if ready:
                self._targets[type_name].start(ready, report)

    def _text(self, task: Task) -> str | None:
        key = task.payload.key
        if key is None:
            return task.payload.text or ""
        if key not in self._texts:
            try:
                self.prefetch([task])
            except Unavailable:
                return None
        return self._texts.get(key)

    def _delivery(self, task: Task, text: str) -> Delivery:
        tenant = self._tenant(task.tenant) or Tenant(id=task.tenant)
        return Delivery(
            run_id=task.id,
            task_id=task.id,
            tenant=task.tenant,
            attempt=task.attempts,
            token=task.token,
            planned_at=task.planned_at,
            timeout_seconds=min(task.timeout_seconds, self._seconds_left()),
            destination=task.destination,
            payload=text.encode(),
            signing_secrets=tenant.signing_secrets,
            queues_allowed=tenant.queue_urls,
        )
