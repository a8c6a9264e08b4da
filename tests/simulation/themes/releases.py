"""Themes of two releases at work at once, and of a release that is taken back."""

from dataclasses import replace
from random import Random

from tests.simulation.hub import SECOND
from tests.simulation.mix import MINUTE, Fault, Mix, Outage
from tests.simulation.themes.pressure import CONTROLS


def deployed(mix: Mix, draws: Random) -> Mix:
    """Code of two versions, answers that get lost, and much that is put off: what one has written the other finds."""
    return replace(
        mix,
        newer=0.5,
        newer_forms=draws.random() < 0.5,
        recurring=draws.choice((mix.recurring, 0.6)),
        rates={Fault.TIMED_OUT: 0.08, Fault.LOST: 0.08, Fault.DONE_ERROR: 0.08, Fault.ROWLESS: 0.08},
        sticky=0.9,
        control=draws.choice((None, *CONTROLS)),
        outage=None,
        down=None,
        duplicates=0.0,
        delayed=0.0,
        fatal=0.0,
        skew=min(mix.skew, 5 * SECOND),
        latency=min(mix.latency, 5_000),
        tempers=("takes", "refuses"),
        timeouts=(5, 20),
    )


def rowless(mix: Mix, draws: Random) -> Mix:
    """Many writes whose answer is lost are refused without the row when they are repeated: the writer reads the row to
    tell its own change from another's."""
    return replace(
        deployed(mix, draws), rates={Fault.ROWLESS: 0.3}, newer=0.0, newer_forms=False, payments=0.0
    )


def rolled_back(mix: Mix, draws: Random) -> Mix:
    """Newer code makes recurring tasks that the code as it is cannot read, and calls them by hand; both run them."""
    return replace(
        deployed(mix, draws),
        rates={Fault.LOST: 0.01},
        newer_forms=True,
        recurring=1.0,
        payments=0.0,
        control=None,
        attempts=3,
        requests=8,
    )


def rewound(mix: Mix, draws: Random) -> Mix:
    """Tables are restored while sweepers are at work, some of which stand still or cannot send meanwhile."""
    outage = Outage(
        service="sqs", start=draws.randrange(3 * MINUTE), duration=draws.choice((90, 150)) * SECOND
    )
    return replace(
        mix,
        rewinds=draws.choice((1, 1, 2)),
        rates={Fault.CRASH_AFTER: 0.02, Fault.PAUSED: draws.choice((0.0, 0.05))},
        sweepers=draws.choice((1, 2, 3)),
        pause=min(mix.pause, 2 * MINUTE),
        delayed=0.0,
        outage=draws.choice((None, outage)),
        fatal=0.0,
        lost=0,
        skew=min(mix.skew, 5 * SECOND),
        span=4 * MINUTE,
    )
