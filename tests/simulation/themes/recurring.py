"""Themes about the runs of recurring tasks."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import HOUR, MINUTE, Fault, Mix, Outage
from tests.simulation.replanning import QUEUED, RECOUNTED, WAYS
from tests.simulation.themes.calm import quiet


def timely(mix: Mix, draws: Random) -> Mix:
    """Chains of runs, many of which are slow, late, paused and changed."""
    return replace(
        mix,
        recurring=1.0,
        payments=0.0,
        control=None,
        explicit=draws.choice((0.0, 0.5)),
        skew=min(mix.skew, 5 * SECOND),
        delayed=0.0,
        requests=8,
        span=4 * MINUTE,
        tempers=("takes", "takes", "is slow", "refuses"),
        timeouts=(120,),
        down=None,
    )


def overslept(mix: Mix, draws: Random) -> Mix:
    """Chains of runs whose calls cannot be sent for more than an hour: the audits of empty minutes go on meanwhile."""
    outage = Outage(
        service="sqs", start=draws.randrange(2 * MINUTE), duration=draws.choice((75, 100)) * MINUTE
    )
    return replace(
        mix,
        rates={},
        recurring=1.0,
        payments=0.0,
        explicit=0.0,
        control=None,
        down=None,
        outage=outage,
        ends_within=4 * HOUR,
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        delayed=0.0,
        fatal=0.0,
        clients=1,
        requests=4,
        tries=3,
        tempers=("takes",),
    )


def queued(mix: Mix, draws: Random) -> Mix:
    """Recurring tasks whose runs last, wait for one another and are in nobody else's way."""
    return replace(
        quiet(mix, draws),
        recurring=1.0,
        overlaps=("queue",),
        payments=0.0,
        explicit=draws.choice((0.5, 1.0)),
        control=None,
        tempers=("takes",),
        timeouts=(30, 120, 240),
        planned_for=9 * MINUTE,
        requests=5,
    )


def zoned(mix: Mix, draws: Random) -> Mix:
    """The clocks of a zone are moved while tasks recur by them, and little else goes wrong."""
    return replace(
        quiet(mix, draws),
        recurring=1.0,
        payments=0.0,
        control=None,
        tempers=("takes",),
        zone_moves=(draws.randrange(3 * MINUTE), draws.choice((-2, -1, 1, 2)) * MINUTE),
    )


def replanned(mix: Mix, draws: Random) -> Mix:
    """Runs that last for more than a minute, plans that are changed meanwhile, and workers that stand still before they
    write that a run begins."""
    return replace(
        quiet(mix, draws),
        rates={Fault.PAUSED: 0.02, Fault.LOST: 0.005},
        slow_writes=draws.choice((0.0, 0.3)),
        pause=draws.choice((20, 45)) * SECOND,
        recurring=1.0,
        payments=0.0,
        explicit=0.0,
        control=None,
        operations=0.0,
        recorded=False,
        newer=0.0,
        executors=3,
        clients=1,
        requests=2,
        span=MINUTE,
        tempers=("never answers", "never answers", "takes"),
        timeouts=(90,),
        attempts=1,
        replanned=WAYS,
    )


def superseded(mix: Mix, draws: Random) -> Mix:
    """Plans are changed while runs wait for one another, and the caller cannot find those that wait: the indexes are
    out. A worker that is about to begin one of them stands still until the new plan has begun."""
    return replace(
        replanned(mix, draws),
        rates={Fault.PAUSED: 0.005},
        outage=Outage(service="lists", start=0, duration=HOUR),
        slow_writes=0.0,
        slow_claims=1.0,
        pause=20 * SECOND,
        tempers=("never answers",),
        timeouts=(105,),
        replanned=(QUEUED,),
    )


def recounted(mix: Mix, draws: Random) -> Mix:
    """Makes the theme `superseded` denser: workers stand still for seconds before any run begins, runs are soon over,
    and the plan changes once more while the first run of the new plan is about to begin."""
    return replace(
        superseded(mix, draws),
        slow_starts=1.0,
        pause=8 * SECOND,
        tempers=("never answers", "takes"),
        timeouts=(85,),
        requests=6,
        replanned=(RECOUNTED,),
    )
