"""A tenant's quota of registrations, made so small in some runs that callers reach it."""

from collections.abc import Sequence
from typing import Final

from functions.api.limits import meter
from postdate.stores import tenants
from tests.simulation.engine import Change
from tests.simulation.hub import SECOND, Actor
from tests.simulation.mix import Mix
from tests.simulation.rows import is_definition, is_item, is_run, text
from tests.simulation.seen import Broken, Seen

# What one copy of the API may register of its own in each window, where there is a quota.
_ALLOWANCE: Final = 2
_WINDOW: Final = 10 * SECOND
_USUAL: Final = meter.ALLOWANCE, tenants.REGISTERED_A_SECOND_OF


def arrange(mix: Mix) -> None:
    allowance, quotas = _USUAL
    vars(meter)["ALLOWANCE"] = _ALLOWANCE if mix.quota else allowance
    vars(tenants)["REGISTERED_A_SECOND_OF"] = dict.fromkeys(quotas, mix.quota) if mix.quota else quotas


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
