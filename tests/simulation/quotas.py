"""Quotas of a tenant, made so small in some runs that callers reach them: registrations, stored tasks, and deliveries
that are in flight at one worker."""

from collections.abc import Sequence
from typing import Any, Final

from functions.api.limits import meter, stored
from postdate.domain import limits
from postdate.stores import tenants
from tests.simulation.engine import Change
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import Mix
from tests.simulation.rows import is_definition, is_item, is_run, text
from tests.simulation.seen import Broken, Seen

# The items that one copy of the API may register by itself in each window, where there is a quota.
_ALLOWANCE: Final = 2
_WINDOW: Final = 10 * SECOND
_USUAL: Final = meter.ALLOWANCE, tenants.REGISTERED_A_SECOND_OF
_USUAL_SHARE: Final = limits.IN_FLIGHT_A_WORKER
# Tasks that one copy of the API counts by itself, where few may be stored, before it adds them to the shared count.
_ADDED_AT_ONCE: Final = 2
_USUAL_ADDED_AT_ONCE: Final = stored.ADDED_AT_ONCE
# Orders of one request of the callers.
_BATCH_MAX: Final = 4


def arrange(mix: Mix) -> None:
    allowance, quotas = _USUAL
    vars(meter)["ALLOWANCE"] = _ALLOWANCE if mix.quota else allowance
    vars(tenants)["REGISTERED_A_SECOND_OF"] = dict.fromkeys(quotas, mix.quota) if mix.quota else quotas
    vars(stored)["ADDED_AT_ONCE"] = _ADDED_AT_ONCE if mix.stored else _USUAL_ADDED_AT_ONCE
    vars(limits)["IN_FLIGHT_A_WORKER"] = mix.in_flight or _USUAL_SHARE


def arrange_copy(wired: Any, mix: Mix) -> None:
    """Gives a copy of the API the number of tasks that may be stored in this run."""
    if (counts := getattr(getattr(wired, "guards", None), "stored", None)) is not None:
        counts._most = mix.stored or limits.STORED_MAX


def i17_registrations_keep_to_the_quota(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """Within a window a tenant may use its quota of this window and of the next one, and each copy of the API what is
    free in two windows."""
    quota = seen.began.quota
    for change in changes if quota else ():
        row = change.after
        if row is None or change.before is not None or not (is_item(change) or is_definition(change)):
            continue
        if is_run(row):
            continue
        tenant, now = str(text(row, "tenant")), seen.hub.now
        found = seen.registered[tenant] = [at for at in seen.registered[tenant] if at > now - _WINDOW] + [now]
        most = 2 * quota * _WINDOW // SECOND + 2 * _ALLOWANCE * (seen.began.clients + 1)
        if len(found) > most:
            raise Broken(f"I17: {tenant} registers {len(found)} items within ten seconds, of {most}")


def i17_stored_tasks_keep_to_the_quota(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """Each copy of the API knows the shared count as of its own last addition, so each may exceed the quota by the
    tasks that it has not added yet and by those of one request."""
    quota = seen.began.stored
    for change in changes if quota else ():
        row = change.after
        if row is None or change.before is not None or not is_item(change):
            continue
        if not str(row["id"]["S"]).startswith("task_"):
            continue
        tenant = str(text(row, "tenant"))
        seen.stored[tenant] += 1
        copies = seen.began.clients + 2
        most = quota + copies * (_ADDED_AT_ONCE + _BATCH_MAX)
        if seen.stored[tenant] > most:
            raise Broken(f"I17: {tenant} has {seen.stored[tenant]} tasks stored, of {most}")


def i17_deliveries_keep_to_the_share(seen: Seen, worker: str, tenant: str, count: int) -> None:
    """A worker has no more deliveries of a tenant in flight than the tenant's share of the worker."""
    most = seen.began.in_flight
    if most and count == most:
        seen.reach["share of a worker used up"] += 1
    if most and count > most:
        raise Broken(f"I17: {worker} has {count} deliveries of {tenant} in flight, of {most}")
