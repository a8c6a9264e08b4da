"""Themes about tenants, keys and accounts: their events, and what becomes of a tenant's rows long after a run."""

from dataclasses import replace
from random import Random
from typing import Final

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Fault, Mix
from tests.simulation.themes.faults import followed

_CRASHES: Final = {Fault.CRASH_BEFORE: 0.02, Fault.CRASH_AFTER: 0.04}
_LOST: Final = {Fault.LOST: 0.04, Fault.ERROR: 0.04, Fault.THROTTLED: 0.04}


def _plain(mix: Mix, draws: Random) -> Mix:
    """Recorded runs in which all comes to its end soon, by clocks that are almost right."""
    return replace(
        followed(mix, draws),
        rates=draws.choice((_CRASHES, _LOST, _CRASHES | _LOST, {})),
        duplicates=draws.choice((0.0, 0.2)),
        outage=None,
        delayed=0.0,
        poison=0,
        fatal=0.0,
        lost=0,
        rewinds=0,
        newer=0.0,
        restated=0.0,
        skew=min(mix.skew, 5 * SECOND),
        jumps=0,
        recurring=0.0,
        far_retries=False,
        waits_max=100,
        requests=8,
        span=2 * MINUTE,
    )


def owned(mix: Mix, draws: Random) -> Mix:
    """Operators and administrators change tenants, keys, accounts and switches all the time."""
    return replace(_plain(mix, draws), owners=0.4, switched=True, duplicates=0.2, money=0.2, requests=12)


def restricted(mix: Mix, draws: Random) -> Mix:
    """Payments are made under keys with restrictions, by callers side by side and by copies that die."""
    return replace(
        _plain(mix, draws),
        rates=draws.choice((_CRASHES, _LOST, _CRASHES | _LOST, {})),
        restricted=0.8,
        payments=1.0,
        recorded=False,
        impatient=0.0,
        money=0.0,
        accounts=4,
        clients=2,
        requests=14,
    )


def retained(mix: Mix, draws: Random) -> Mix:
    """Weeks later the archive takes the payments."""
    return replace(_plain(mix, draws), retained=True, payments=0.9)


def erased(mix: Mix, draws: Random) -> Mix:
    """Afterwards a tenant leaves."""
    return replace(_plain(mix, draws), erased=True, owners=0.1, payments=0.6, clients=3)
