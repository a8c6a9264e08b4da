"""Themes about switches."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Fault, Mix, Outage


def switched(mix: Mix, draws: Random) -> Mix:
    """Operators stop money for a while, again and again, and workers stand still, die and are called twice."""
    crashes = {Fault.CRASH_BEFORE: 0.03, Fault.CRASH_AFTER: 0.05}
    paused = {Fault.PAUSED: 0.05, Fault.PAUSED_BEFORE: 0.05}
    broken = {
        Fault.LOST: 0.05,
        Fault.ERROR: 0.08,
        Fault.CONFLICT: 0.2,
        Fault.THROTTLED: 0.08,
        Fault.UNREAD: 0.05,
    }
    return replace(
        mix,
        rates=draws.choice((crashes, paused, broken, crashes | paused, {})),
        duplicates=draws.choice((0.0, 0.3)),
        newer_forms=False,
        pause=20 * SECOND,
        # A message that nobody can read is sent anew while its payments are stopped, and then looks different.
        poison=0,
        skew=min(mix.skew, 5 * SECOND),
        jumps=0,
        payments=0.9,
        requests=12,
        recurring=0.0,
        span=2 * MINUTE,
        switched=True,
    )


def stopped_at_the_instant(mix: Mix, draws: Random) -> Mix:
    """Operators stop money at the very instant of several payments, and transactions are answered after their timeout:
    what is repeated then begins anew."""
    return replace(
        switched(mix, draws),
        rates={Fault.TIMED_OUT: 0.2},
        duplicates=0.0,
        delayed=0.0,
        outage=None,
        latency=min(mix.latency, 5_000),
        payments=1.0,
        batches=0.8,
        at_one_instant=True,
        accounts=4,
        clients=3,
        requests=8,
        waits_max=30,
        span=MINUTE,
    )


def unread_switches(mix: Mix, draws: Random) -> Mix:
    """Operators stop money while nobody can read the switches."""
    outage = Outage(service="switches", start=draws.randrange(40) * SECOND, duration=2 * MINUTE)
    return replace(stopped_at_the_instant(mix, draws), rates={Fault.LOST: 0.005}, outage=outage, pause=SECOND)
