"""Themes in which little or nothing goes wrong, so that everything has to be in time."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Mix


def quiet(mix: Mix, draws: Random) -> Mix:
    """A run without faults, so every item has to be in time."""
    return replace(
        mix,
        rates={},
        latency=min(mix.latency, 5_000),
        skew=min(mix.skew, SECOND),
        jumps=0,
        duplicates=0.0,
        deletes_lost=0.0,
        fatal=0.0,
        lost=0,
        delayed=0.0,
        outage=None,
        down=None,
        ticks=True,
        heartbeat=True,
        tempers=("takes", "refuses"),
        requests=6,
    )


def moved(mix: Mix, draws: Random) -> Mix:
    """Registered items are changed, mostly to another minute; little else goes wrong."""
    return replace(
        mix,
        rates={fault: min(rate, 0.01) for fault, rate in mix.rates.items()},
        changes=0.5,
        payments=0.5,
        recurring=0.0,
        control=None,
        down=None,
        delayed=0.0,
        outage=None,
        pause=SECOND,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes",),
        requests=8,
    )


def bereft(mix: Mix, draws: Random) -> Mix:
    """Workers of payments are lost in the middle of their batches, and nothing else goes wrong."""
    return replace(
        quiet(mix, draws),
        newer_forms=False,
        payments=1.0,
        money=0.0,
        restated=0.0,
        operations=0.0,
        recurring=0.0,
        batches=0.3,
        executors=2,
        requests=8,
        span=MINUTE,
        waits_max=61,
        killed=0.5,
    )
