"""Themes with many faults of one kind: crashes, pauses, refusals, repeats and lost calls."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import FAR_OFF, MINUTE, Fault, Mix, Outage
from tests.simulation.themes.pressure import CONTROLS


def contested(mix: Mix, draws: Random) -> Mix:
    """Slow answers, slow targets and everything twice: two workers are after one item all the time."""
    return replace(
        mix,
        rates={Fault.PAUSED: 0.06, Fault.PAUSED_BEFORE: 0.06},
        latency=draws.choice((5_000, 1_500_000, 1_500_000)),
        duplicates=0.5,
        delayed=0.0,
        outage=None,
        executors=3,
        tempers=("is slow", "is slow", "never answers", "takes and resets"),
        attempts=draws.choice((1, 3, 3)),
        timeouts=(120,),
        pause=draws.choice((20, 60)) * SECOND,
        payments=min(mix.payments, 0.5),
        changes=0.2,
        span=MINUTE,
        requests=6,
    )


def contested_at_receivers(mix: Mix, draws: Random) -> Mix:
    """Two workers deliver one run, and its receiver has the word: one of them extends the lease that the other has."""
    return replace(contested(mix, draws), explicit=1.0, payments=0.0)


def deadly(mix: Mix, draws: Random) -> Mix:
    """Workers die at any step, and many deliveries fail for good."""
    crashes = {Fault.CRASH_BEFORE: 0.04, Fault.CRASH_AFTER: 0.08}
    return replace(
        mix,
        rates=crashes,
        delayed=0.0,
        outage=None,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes", "refuses", "refuses for good"),
        attempts=draws.choice((1, 2)),
    )


def deaf(mix: Mix, draws: Random) -> Mix:
    """The queue takes little, or only a part of what it is given."""
    return replace(
        mix,
        rates={Fault.PARTIAL: 0.1, Fault.ERROR: 0.08, Fault.THROTTLED: 0.08, Fault.UNREAD: 0.2},
        sticky=0.9,
        delayed=0.0,
        skew=min(mix.skew, 5 * SECOND),
        outage=draws.choice((None, Outage(service="sqs", start=20 * SECOND, duration=90 * SECOND))),
        tempers=("takes", "refuses"),
    )


def forgotten(mix: Mix, draws: Random) -> Mix:
    """Much fails for good. It is brought back when the audits of its minute are over, and then calls vanish."""
    return replace(
        mix,
        rates={Fault.CRASH_AFTER: 0.02},
        delayed=0.0,
        outage=None,
        fatal=0.0,
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        tempers=("takes", "refuses", "refuses for good"),
        attempts=draws.choice((1, 2)),
        control=draws.choice((None, *CONTROLS)),
        timeouts=(5, 20),
        requests=6,
        lost=3,
        letters_rest=75 * MINUTE,
        deadlines=0.2,
    )


def impatient(mix: Mix, draws: Random) -> Mix:
    """Callers ask twice at once, by machines whose clocks are far apart."""
    return replace(
        mix,
        impatient=0.6,
        latency=draws.choice((5_000, 200_000)),
        skew=draws.choice((5 * SECOND, FAR_OFF)),
        outage=None,
        pause=draws.choice((SECOND, 30 * SECOND)),
        span=MINUTE,
        requests=6,
    )


def forsaken(mix: Mix, draws: Random) -> Mix:
    """Callers ask once and do not come back: what was written without a call is the sweep's to find."""
    rates = {Fault.CRASH_BEFORE: 0.08, Fault.CRASH_AFTER: 0.04, Fault.ERROR: 0.05}
    return replace(
        mix, rates=rates, sticky=0.9, tries=1, delayed=0.0, outage=None, skew=min(mix.skew, 5 * SECOND)
    )


def operated(mix: Mix, draws: Random) -> Mix:
    """Much fails for good, and operations act on it while their workers die or are called twice."""
    crashes = {Fault.CRASH_BEFORE: 0.03, Fault.CRASH_AFTER: 0.06}
    paused = {Fault.PAUSED: 0.05, Fault.PAUSED_BEFORE: 0.05}
    return replace(
        mix,
        rates=draws.choice((crashes, crashes | {Fault.LOST: 0.05, Fault.ERROR: 0.05}, paused)),
        duplicates=draws.choice((0.0, 0.3)),
        delayed=0.0,
        newer_forms=False,
        pause=20 * SECOND,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes", "refuses", "refuses for good", "refuses for good"),
        attempts=draws.choice((1, 1, 2)),
        payments=min(mix.payments, 0.3),
        requests=12,
        recurring=0.0,
        control=None,
        explicit=0.0,
        operations=0.5,
        stalled=0.02,
    )


def followed(mix: Mix, draws: Random) -> Mix:
    """Changes are recorded by workers that die, pause and have one batch twice, and callers follow the feed."""
    crashes = {Fault.CRASH_BEFORE: 0.03, Fault.CRASH_AFTER: 0.06}
    lost = {Fault.LOST: 0.05, Fault.ERROR: 0.05, Fault.PARTIAL: 0.05}
    paused = {Fault.PAUSED: 0.05, Fault.PAUSED_BEFORE: 0.05}
    return replace(
        mix,
        rates=draws.choice((crashes, crashes | lost, lost | paused)),
        duplicates=0.3,
        newer_forms=False,
        pause=20 * SECOND,
        recorded=True,
    )


def buried_together(mix: Mix, draws: Random) -> Mix:
    """Tasks of one instant die together, so that one letter tells of several; operations bring back some of these."""
    return replace(
        operated(mix, draws),
        rates={Fault.CRASH_BEFORE: 0.005, Fault.LOST: 0.005},
        duplicates=0.0,
        latency=200_000,
        payments=0.0,
        batches=0.7,
        at_one_instant=True,
        tempers=("takes", "refuses for good", "refuses for good", "refuses for good"),
        attempts=1,
        executors=1,
        requests=8,
        span=2 * MINUTE,
    )
