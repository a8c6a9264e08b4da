"""Themes of a service that is out: for some workers, for a while, or for one kind of call."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Fault, Mix, Outage
from tests.simulation.themes.calm import quiet


def cut_off(mix: Mix, draws: Random) -> Mix:
    """Workers have begun and cannot write what came of it until they are almost at their end; the retry, a quarter of
    an hour later, is then so near that the sweep has been there."""
    outage = Outage(
        service="workers",
        start=draws.randrange(10, 60) * SECOND,
        duration=draws.randrange(835, 870) * SECOND,
    )
    return replace(
        mix,
        rates={Fault.LOST: 0.001},
        payments=0.0,
        recurring=0.0,
        explicit=0.0,
        control=None,
        down=None,
        outage=outage,
        waits_max=60,
        ends_within=60 * MINUTE,
        skew=0,
        latency=min(mix.latency, 5_000),
        duplicates=0.0,
        delayed=0.0,
        fatal=0.0,
        lost=0,
        requests=10,
        span=MINUTE,
        tempers=("never answers",),
        timeouts=(30,),
        far_retries=True,
        attempts=2,
    )


def unwritable(mix: Mix, draws: Random) -> Mix:
    """Workers can read and send for a while, and none of their statements is written."""
    outage = Outage(
        service="writes", start=draws.randrange(30) * SECOND, duration=draws.randrange(60, 90) * SECOND
    )
    return replace(
        mix,
        rates={Fault.LOST: 0.005},
        outage=outage,
        payments=0.0,
        recurring=draws.choice((0.0, 0.5)),
        explicit=0.0,
        control=None,
        down=None,
        operations=0.0,
        delayed=0.0,
        fatal=0.0,
        lost=0,
        latency=min(mix.latency, 5_000),
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes",),
        requests=6,
        span=MINUTE,
    )


def unsent(mix: Mix, draws: Random) -> Mix:
    """Callers ask once, for minutes that are open already, and the API cannot send the calls of what it writes: in time
    the closing pass alone finds it."""
    return replace(
        quiet(mix, draws),
        rates={Fault.LOST: 0.005},
        outage=Outage(service="callers", start=0, duration=draws.randrange(60, 170) * SECOND),
        tries=1,
        newer_forms=False,
        recurring=0.0,
        explicit=0.0,
        control=None,
        operations=0.0,
        tempers=("takes",),
        requests=6,
        span=2 * MINUTE,
        waits_max=200,
    )


def vanishing(mix: Mix, draws: Random) -> Mix:
    """Calls vanish from their queue, also those of a second attempt, which no pass but the audit sends again."""
    return replace(
        quiet(mix, draws),
        recurring=0.0,
        explicit=0.0,
        control=None,
        operations=0.0,
        lost=20,
        latency=200_000,
        tempers=("takes", "refuses"),
        attempts=3,
        requests=8,
        span=MINUTE,
        waits_max=200,
    )


def unread(mix: Mix, draws: Random) -> Mix:
    """Reads of many rows at once leave most of them unread for a minute, while there is work for the workers."""
    outage = Outage(
        service="reads", start=draws.randrange(30) * SECOND, duration=draws.randrange(60, 90) * SECOND
    )
    return replace(
        quiet(mix, draws),
        rates={Fault.LOST: 0.005},
        outage=outage,
        newer_forms=False,
        payments=draws.choice((0.0, 0.5)),
        recurring=0.0,
        explicit=0.0,
        control=None,
        operations=0.0,
        tempers=("takes",),
        requests=6,
        span=MINUTE,
        waits_max=60,
    )
