"""Turns claimed tasks into deliveries and puts them on their way.

A payload that its tenant keeps is read when its run has been claimed, in a thread of its own, so no other delivery
waits for it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final
from zlib import crc32

from functions.run_tasks.batch import Worker
from functions.run_tasks.own_payloads import OwnPayloads
from functions.run_tasks.subscribed import Bodies, Subscribed, says_gone
from postdate.domain.errors import SecretBroken, Unavailable, Unreadable
from postdate.domain.limits import share_of_worker
from postdate.domain.task import Ack, Destination, Task
from postdate.runtime.metric import STANDARD
from postdate.runtime.observability import logger
from postdate.stores.payloads import Payloads
from postdate.stores.tenants import Tenant
from postdate.stores.vault import SIGNING, Vault
from postdate.targets.base import Delivery, Failed, Receipt, Report, Target, Untried, internal_error

# A CRC-32 is below this. A share of the tasks has one below that share of it.
_CRC_END: Final = 1 << 32


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sources:
    """The functions that return the content of a task and the secrets that sign it; None if these cannot be read
    now."""

    # Returns the content of a task, or the outcome if there is none.
    payload: Callable[[Task], bytes | Failed | Untried]
    # Returns the secrets that sign; None if they cannot be read now.
    secrets: Callable[[Task, Tenant], tuple[str, ...] | None]


class Sender:
    """No delivery may outlive the worker."""

    def __init__(
        self,
        worker: Worker,
        *,
        targets: Mapping[str, Target],
        payloads: Payloads,
        own: OwnPayloads,
        tenants: Callable[[Iterable[str]], Mapping[str, Tenant]],
        vault: Vault,
        response_seconds_max: int,
        subscribed: Subscribed,
    ) -> None:
        self._worker = worker
        self._subscribed = subscribed
        self._bodies = Bodies(subscribed.events)
        self._targets = targets
        self._payloads = payloads
        self._own = own
        self._read_tenants = tenants
        self._vault = vault
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
        if tenants := {task.tenant for task in given} - self._asked:
            self._prefetch_tenants(tenants)
        for task in given:
            if task.destination.sealed:
                self._readable(task)
        if deliveries := [task for task in given if task.is_delivery]:
            self._bodies.prefetch(deliveries)
        keys = {
            task.payload.key for task in given if task.payload.key is not None and not task.is_delivery
        } - self._asked
        if keys:
            try:
                self._texts |= self._payloads.get_many(keys)
            except Unavailable:
                self._unread |= keys
        self._asked |= keys | {task.tenant for task in given}

    def _prefetch_tenants(self, ids: Collection[str]) -> None:
        """Reads these tenants and opens their signing secrets. Raises nothing: `_start` reports the deliveries of a
        tenant that could not be read as `Untried`."""
        try:
            self._know_tenants(ids)
        except Unreadable:
            # A row that only newer code reads hides no other tenant.
            for id in ids:
                with suppress(Unavailable):
                    self._know_tenants([id])
        except Unavailable:
            return

    def _know_tenants(self, ids: Collection[str]) -> None:
        """Keeps the tenants with their secrets opened. Raises Unavailable if their rows cannot be read."""
        stored = self._read_tenants(ids)
        for id in ids:
            with suppress(Unavailable):
                self._tenants[id] = self._opened(stored.get(id) or Tenant(id=id))

    def _opened(self, tenant: Tenant) -> Tenant:
        """The tenant with its signing secrets readable. Raises Unavailable, also for a secret that does not open:
        a person has to look, and no task of the tenant is at fault."""
        try:
            secrets = [self._vault.open(tenant.id, SIGNING, each) for each in tenant.signing_secrets]
        except SecretBroken:
            logger.error(
                "a signing secret does not open", extra={"action": "secret_broken", "tenant": tenant.id}
            )
            raise
        return replace(tenant, signing_secrets=tuple(secrets))

    def sealed(self, task: Task) -> Task:
        """The task as it is to be written: headers that an older release kept readable are sealed, and those that a
        replaced data key sealed are sealed anew, unless KMS cannot be asked now."""
        with suppress(Unavailable):
            sealed = self._vault.sealed(task.tenant, task.destination)
            return replace(task, destination=self._vault.renewed_headers(task.tenant, sealed))
        return task

    def tier_of(self, tenant: str) -> str:
        """The tier of a tenant that was prefetched."""
        known = self._tenants.get(tenant)
        return STANDARD if known is None else known.tier

    def share_of(self, tenant: str, workers: int) -> int:
        """The deliveries of the tenant that this one of the workers may have in flight; the usual number for a tenant
        that was not prefetched."""
        known = self._tenants.get(tenant)
        return share_of_worker(None if known is None else known.tenancy.runs_in_flight, workers)

    def traced(self, tasks: Iterable[Task]) -> set[str]:
        """The ids of the tasks whose decisions are logged: of a share of their tenant's tasks, always the same ones."""
        shares = {id: known.log_share * _CRC_END for id, known in self._tenants.items() if known.log_share}
        return {task.id for task in tasks if crc32(task.id.encode()) < shares.get(task.tenant, 0)}

    def start(self, tasks: Sequence[Task], report: Report, *, unsent: Report) -> None:
        """Sends tasks that were prefetched. A task that cannot be sent is reported to `unsent`: its destination has no
        part in that, though some of the reasons are failures of the task's own."""
        kept_by_tenants = sorted((task for task in tasks if task.payload.ref is not None), key=_task_id)
        for _, runs in groupby(kept_by_tenants, key=_task_id):
            # Together, for the runs of one task may have to keep their order.
            own = _Sources(payload=self._own.read, secrets=self._secrets_of_tenant)
            self._own.readers.submit(self._start, list(runs), own, report, unsent)
        here = [(task, task.is_delivery) for task in tasks if task.payload.ref is None]
        usual = _Sources(payload=self._payload, secrets=self._secrets_of_tenant)
        self._start([task for task, is_delivery in here if not is_delivery], usual, report, unsent)
        if deliveries := [task for task, is_delivery in here if is_delivery]:
            events = _Sources(payload=self._bodies.of, secrets=self._secrets_of_subscription)
            self._start(deliveries, events, report, unsent)

    def _start(
        self,
        tasks: Sequence[Task],
        sources: _Sources,
        report: Report,
        unsent: Report,
    ) -> None:
        ready: dict[str, list[Delivery]] = {}
        for task in tasks:
            tenant, given = self._tenants.get(task.tenant), _made(sources.payload, task)
            # The delivery is made in any case: a report about a call that is not sent names it as well.
            content = given if isinstance(given, bytes) else b""
            destination = self._readable(task)
            to = destination if isinstance(destination, Destination) else task.destination
            secrets = sources.secrets(task, tenant or Tenant(id=task.tenant))
            delivery = self._delivery(task, tenant or Tenant(id=task.tenant), content, to, secrets or ())
            if tenant is None or secrets is None:
                unsent(delivery, Untried(reason="its tenant's settings could not be read"))
            elif not isinstance(given, bytes):
                unsent(delivery, given)
            elif not isinstance(destination, Destination):
                unsent(delivery, destination)
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

    def _readable(self, task: Task) -> Destination | Failed | Untried:
        """The destination with readable headers, or the outcome of a task whose headers cannot be opened."""
        if not task.destination.sealed:
            return task.destination
        try:
            return self._vault.opened(task.tenant, task.destination)
        except SecretBroken:
            return Failed(reason="its headers do not open", retry=False)
        except Unavailable:
            return Untried(reason="its headers could not be opened")

    def _secrets_of_tenant(self, task: Task, tenant: Tenant) -> tuple[str, ...]:
        return tenant.secrets_at(self._worker.clock.now())

    def _secrets_of_subscription(self, task: Task, tenant: Tenant) -> tuple[str, ...] | None:
        now = self._worker.clock.now()
        with suppress(Unavailable):
            if subscription := self._subscribed.subscription(task):
                purpose = subscription.secret_purpose
                sealed = subscription.secrets_at(now)
                return tuple(self._vault.open(task.tenant, purpose, each) for each in sealed)
        return None

    def ended(self, delivery: Task, receipt: Receipt) -> None:
        """Takes the answer to the delivery of an event, which may end the subscription too."""
        if says_gone(receipt):
            self._subscribed.end(delivery)

    def _delivery(
        self,
        task: Task,
        tenant: Tenant,
        payload: bytes,
        destination: Destination,
        secrets: tuple[str, ...],
    ) -> Delivery:
        """The delivery of a claimed task. Its time ends before the worker does."""
        return Delivery(
            run_id=task.id,
            task_id=task.task_id,
            tenant=task.tenant,
            attempt=task.attempts,
            token=task.token,
            planned_at=task.planned_at,
            timeout_seconds=max(1.0, min(self._waits(task), self._worker.seconds_left())),
            destination=destination,
            payload=payload,
            signing_secrets=secrets,
            allowed=tenant.allowed(task.destination.type),
            ack=task.ack,
            depth=task.depth,
        )

    def _waits(self, task: Task) -> int:
        """The seconds to wait for the answer to a delivery. With an explicit acknowledgement the answer is only a
        receipt, and the work has its whole timeout. A task that was registered with a longer wait, when that was
        allowed, keeps it."""
        if task.ack is Ack.RESPONSE:
            return task.timeout_seconds
        return min(task.timeout_seconds, self._response_seconds_max)


def _made(payload: Callable[[Task], bytes | Failed | Untried], task: Task) -> bytes | Failed | Untried:
    """Returns the payload, or any error as an outcome: a delivery without an outcome would wait for ever."""
    try:
        return payload(task)
    except Exception as error:
        return internal_error(error)


def _task_id(task: Task) -> str:
    return task.task_id
