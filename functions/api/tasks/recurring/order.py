"""A parsed request for a recurring task, and the definition that it stands for."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from postdate.domain import instants
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Definition, Overlap, State
from postdate.domain.errors import PostdateError
from postdate.domain.schedule import Schedule
from postdate.domain.task import Template
from postdate.stores.idempotency import Reservation


@dataclass(frozen=True, kw_only=True, slots=True)
class RecurringOrder:
    """A parsed request for a recurring task. The refusal counts only if the key is new."""

    # The plan of the request.
    schedule: Schedule
    # The call of each run.
    template: Template
    # The rule for a run that is due while an earlier one is active.
    overlap: Overlap
    # The rule for occurrences that passed without a run.
    catch_up: CatchUp
    # The greatest lateness with which an occurrence is still caught up.
    catch_up_window: timedelta
    # The owner's name for the task; None if the request gave none.
    name: str | None
    # The owner's words for the task.
    tags: tuple[str, ...]
    # The key of the request; None without one.
    idempotency_key: str | None
    # The hash of the request. A second request with the same key must have the same.
    fingerprint: str
    # The error of a request that cannot be accepted now, which counts only if the key is new; None without
    # one.
    refusal: PostdateError | None = None
    # The key as the job API answers it; None for other requests.
    job_key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredDefinition:
    """The definition at its registration. `replayed` is true if an earlier request with the same key registered it."""

    # The definition at its registration.
    definition: Definition
    # True if an earlier request with the same key registered it.
    replayed: bool = False


def first_answer(tenant: str, order: RecurringOrder, found: Reservation) -> RegisteredDefinition:
    """Rebuilds the first answer from the request, which is the same, and from the reservation of its key."""
    return RegisteredDefinition(
        definition=definition_of(tenant, order, id=found.item_id, now=found.created_at), replayed=True
    )


def definition_of(tenant: str, order: RecurringOrder, *, id: str, now: datetime) -> Definition:
    """The definition that a request stands for. The number of its first chain follows from the instant of the request,
    so a repetition makes the same runs."""
    return Definition(
        id=id,
        tenant=tenant,
        state=State.ACTIVE,
        version=1,
        # Later chains add a random number to this one.
        plan=instants.milliseconds(now),
        schedule=replace(order.schedule, definition_id=id),
        template=order.template,
        created_at=now,
        changed_at=now,
        overlap=order.overlap,
        catch_up=order.catch_up,
        catch_up_window=order.catch_up_window,
        name=order.name,
        tags=order.tags,
        job_key=order.job_key,
    )
