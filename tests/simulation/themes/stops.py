"""The theme about switches."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Fault, Mix


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
        skew=min(mix.skew, 5 * SECOND),
        jumps=0,
        payments=0.9,
        requests=12,
        recurring=0.0,
        span=2 * MINUTE,
        switched=True,
    )
