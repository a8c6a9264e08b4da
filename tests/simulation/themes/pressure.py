"""Themes about more work than keys, rooms, workers or destinations can take."""

from dataclasses import replace
from random import Random
from typing import Final

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Control, Fault, Mix, Outage
from tests.simulation.themes.calm import quiet

CONTROLS: Final = (
    Control(share=0.7, rate=1, period=5),
    Control(share=0.7, rate=3, period=10),
    Control(share=0.7, parallelism=1),
    Control(share=0.9, parallelism=2),
    Control(share=0.9, rate=2, period=4, parallelism=1),
)


def crowded(mix: Mix, draws: Random) -> Mix:
    """More work than its key lets through at once."""
    return replace(
        mix,
        control=draws.choice(CONTROLS),
        payments=0.0,
        recurring=0.0,
        outage=None,
        requests=10,
        batches=0.5,
        span=MINUTE,
        executors=3,
        tempers=("takes", "takes", "is slow", "refuses"),
        skew=min(mix.skew, 5 * SECOND),
    )


def looping(mix: Mix, draws: Random) -> Mix:
    """Receivers register the next task, or trigger a run, with the depth that they were told."""
    return replace(
        quiet(mix, draws),
        rates={Fault.LOST: 0.01},
        payments=0.0,
        recurring=0.4,
        explicit=0.0,
        control=None,
        operations=0.0,
        tempers=("takes",),
        requests=3,
        span=MINUTE,
        waits_max=5,
        loops=0.9,
    )


def rationed(mix: Mix, draws: Random) -> Mix:
    """Callers register by the batch, and more than their tenant's quota."""
    return replace(
        quiet(mix, draws),
        recurring=0.0,
        control=None,
        operations=0.0,
        impatient=0.0,
        restated=0.0,
        money=0.0,
        batches=0.9,
        clients=3,
        requests=20,
        span=6 * SECOND,
        quota=1,
    )


def stored_out(mix: Mix, draws: Random) -> Mix:
    """Callers register more tasks than their tenant may have stored."""
    return replace(rationed(mix, draws), payments=0.0, quota=0, stored=6, clients=2)


def confined(mix: Mix, draws: Random) -> Mix:
    """Receivers are slow, many tasks are due at one instant, and a tenant may have few deliveries in flight at a
    worker."""
    return replace(
        quiet(mix, draws),
        rates={Fault.LOST: 0.005},
        payments=0.0,
        recurring=0.0,
        explicit=0.0,
        control=None,
        operations=0.0,
        batches=0.8,
        at_one_instant=True,
        executors=draws.choice((1, 2)),
        tempers=("is slow", "never answers"),
        timeouts=(20,),
        attempts=1,
        requests=6,
        span=MINUTE,
        waits_max=30,
        in_flight=2,
    )


def unanswered(mix: Mix, draws: Random) -> Mix:
    """DynamoDB answers nothing for minutes, or nothing to workers. Each copy of a function has its own breakers."""
    outage = Outage(
        service=draws.choice(("dynamodb", "executors")),
        start=draws.randrange(5, 40) * SECOND,
        duration=draws.choice((3, 4, 6)) * MINUTE,
    )
    return replace(
        quiet(mix, draws),
        outage=outage,
        newer_forms=False,
        payments=draws.choice((0.3, 0.7)),
        recurring=0.0,
        operations=0.0,
        restated=0.0,
        batches=0.3,
        tempers=("takes", "refuses"),
        executors=1,
        clients=3,
        requests=10,
        span=3 * MINUTE,
        ends_within=4 * MINUTE,
        waits_max=61,
        breakers=True,
    )


def backlogged(mix: Mix, draws: Random) -> Mix:
    """More work for one key than it has places for while tasks live."""
    return replace(
        mix,
        control=Control(share=1.0, rate=1, period=draws.choice((15, 25))),
        lifetime=draws.choice((100, 200)) * SECOND,
        payments=0.0,
        recurring=draws.choice((0.0, 0.3)),
        explicit=0.0,
        down=None,
        outage=None,
        requests=8,
        batches=0.7,
        span=MINUTE,
        tempers=("takes", "refuses"),
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        delayed=0.0,
    )


def acknowledged(mix: Mix, draws: Random) -> Mix:
    """Receivers say what became of their runs: soon, late, twice, wrongly or not at all."""
    return replace(
        mix,
        explicit=1.0,
        payments=0.0,
        recurring=0.0,
        control=draws.choice((None, mix.control)),
        duplicates=0.3,
        delayed=0.0,
        attempts=3,
        timeouts=(5, 30),
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes", "takes", "takes and resets"),
    )


def acknowledged_in_a_room(mix: Mix, draws: Random) -> Mix:
    return replace(
        acknowledged(crowded(mix, draws), draws),
        control=Control(share=1.0, parallelism=draws.choice((1, 2))),
        timeouts=(5, 20),
        batches=0.0,
    )


def broken_down(mix: Mix, draws: Random) -> Mix:
    """A destination that nobody can reach, much work for it, and nothing else in the way."""
    return replace(
        mix,
        rates={},
        outage=None,
        down=(0, draws.choice((60, 150)) * SECOND),
        latency=min(mix.latency, 5_000),
        payments=0.0,
        recurring=0.0,
        explicit=0.0,
        control=None,
        duplicates=0.0,
        delayed=0.0,
        deletes_lost=0.0,
        skew=min(mix.skew, 5 * SECOND),
        tempers=("takes",),
        attempts=3,
        requests=10,
        batches=0.8,
        span=MINUTE,
    )


def overbooked(mix: Mix, draws: Random) -> Mix:
    """Workers have more to do than they have threads for, and a destination is down besides."""
    return replace(broken_down(mix, draws), untried=draws.choice((0.2, 0.5)))


def restored(mix: Mix, draws: Random) -> Mix:
    """Many calls wait for a destination that is down for minutes, and nothing else goes wrong."""
    mix = quiet(broken_down(mix, draws), draws)
    return replace(mix, skew=0, jumps=0, down=(10 * SECOND, draws.choice((90, 150)) * SECOND), requests=12)


def kept(mix: Mix, draws: Random) -> Mix:
    """Destinations keep all workers, for up to a minute each, and everything has to be in time all the same."""
    return replace(
        quiet(mix, draws),
        executors=draws.choice((1, 2)),
        payments=0.0,
        recurring=0.0,
        control=None,
        untried=0.0,
        tempers=("takes", "is slow", "never answers", "never answers"),
        timeouts=(30, 60),
        requests=10,
        batches=0.3,
        span=2 * MINUTE,
    )


def kept_and_crashing(mix: Mix, draws: Random) -> Mix:
    rates = {Fault.CRASH_BEFORE: 0.02, Fault.CRASH_AFTER: 0.02, Fault.THROTTLED: 0.05, Fault.PARTIAL: 0.05}
    return replace(kept(mix, draws), rates=rates, sticky=0.9, attempts=3)


def paused(mix: Mix, draws: Random) -> Mix:
    """The key of all tasks is paused for a while, now and then, and nothing else goes wrong."""
    full = crowded(quiet(mix, draws), draws)
    control = replace(full.control or CONTROLS[0], share=1.0)
    return replace(full, control=control, pauses=0.4, explicit=0.0, tempers=("takes", "refuses"))
