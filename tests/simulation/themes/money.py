"""Themes about accounts and their payments."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Mix, Outage


def frozen(mix: Mix, draws: Random) -> Mix:
    """Accounts are frozen, emptied and in everybody's way while payments become due."""
    outage = Outage(
        service="conflicts", start=30 * SECOND, duration=draws.choice((30, 170, 175, 400)) * SECOND
    )
    return replace(
        mix,
        payments=1.0,
        money=0.3,
        accounts=2,
        requests=10,
        span=MINUTE,
        outage=draws.choice((None, outage)),
        latency=min(mix.latency, 5_000),
    )


def closing(mix: Mix, draws: Random) -> Mix:
    """Accounts are opened and closed while money comes in, is held and goes out."""
    return replace(
        mix,
        payments=1.0,
        money=0.7,
        restated=0.0,
        closing=0.8,
        requests=6,
        span=MINUTE,
        waits_max=draws.choice((5, 30)),
        latency=min(mix.latency, 5_000),
        outage=None,
    )


def mutual(mix: Mix, draws: Random) -> Mix:
    """Two or three accounts pay each other more than they have, and much of it is settled late and at once."""
    return replace(
        mix,
        rates={fault: min(rate, 0.01) for fault, rate in mix.rates.items()},
        outage=Outage(service="sqs", start=5 * SECOND, duration=draws.choice((60, 90)) * SECOND),
        payments=1.0,
        money=0.02,
        unfunded=draws.choice((0.6, 0.9)),
        accounts=draws.choice((2, 3)),
        batches=0.6,
        requests=8,
        span=30 * SECOND,
        waits_max=draws.choice((5, 30)),
        executors=draws.choice((1, 2)),
        latency=min(mix.latency, 5_000),
        skew=min(mix.skew, 5 * SECOND),
        pause=SECOND,
        delayed=0.0,
    )


def strangers(mix: Mix, draws: Random) -> Mix:
    """Many pairs of accounts pay while the queue is down: late workers then settle payments that share no account."""
    return replace(
        mutual(mix, draws),
        accounts=draws.choice((8, 12)),
        unfunded=0.5,
        money=0.2,
        batches=0.9,
        requests=12,
        executors=1,
        rates={fault: max(rate, 0.01) for fault, rate in mix.rates.items()},
    )


def restated(mix: Mix, draws: Random) -> Mix:
    """Accounts are set right while payments reach them and indexes are behind, some of them damaged by hand."""
    return replace(
        mix,
        rates={fault: min(rate, 0.01) for fault, rate in mix.rates.items()},
        lag=draws.choice((0, 11, 30, 60)) * SECOND,
        newer=draws.choice((0.0, 0.5)),
        newer_forms=True,
        payments=1.0,
        money=0.4,
        restated=0.7,
        accounts=draws.choice((2, 3)),
        span=2 * MINUTE,
        requests=10,
        waits_max=draws.choice((5, 30)),
        latency=min(mix.latency, 5_000),
        skew=min(mix.skew, 5 * SECOND),
        pause=SECOND,
        delayed=0.0,
        outage=None,
    )
