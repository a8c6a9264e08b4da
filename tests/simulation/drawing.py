"""Draws the mix of a run from its seed: of all sorts, of one theme, or short."""

from dataclasses import replace
from random import Random
from typing import Final

from tests.simulation.hub import SECOND
from tests.simulation.mix import FAR_OFF, HOUR, MINUTE, TEMPERS, Fault, Mix, Outage
from tests.simulation.themes import THEMES
from tests.simulation.themes.pressure import CONTROLS

# Drawn after everything else, so that seeds from before they were known still draw the same.
_NEWEST: Final = (Fault.UNREAD, Fault.ROWLESS)
# Themes that came later are drawn apart from the others, so that they change few runs of earlier seeds. `queued` is
# among them once more, because a full queue is rare in runs of all other sorts.
_LATER: Final = ("paused", "operated", "followed", "strangers", "contested at receivers", "queued")
_LATER_SHARE: Final = 0.12
# Runs of all sorts do not draw these, so that no earlier seed changes.
_BY_NAME: Final = frozenset(
    {
        *("looping", "rationed", "stored out", "confined", "unanswered"),
        *("switched", "stopped at the instant", "unread switches"),
        *("replanned", "superseded", "recounted", "rolled back", "buried together", "unwritable"),
        *("unsent", "vanishing", "unread", "owned", "retained", "erased", "rowless", "bereft"),
    }
)
_DRAWN: Final = [
    theme for theme in THEMES if theme not in _BY_NAME and (theme not in _LATER or theme == "queued")
]


def drawn(draws: Random) -> Mix:
    def sometimes(chance: float = 0.35) -> bool:
        return draws.random() < chance

    rates: dict[Fault, float] = {}
    quiet = sometimes(0.08)
    if not quiet:
        for fault in Fault:
            if fault not in _NEWEST and sometimes():
                rates[fault] = draws.choice((0.005, 0.02, 0.06))
    outage = None
    if not quiet and sometimes(0.2):
        outage = Outage(
            service=draws.choice(("dynamodb", "sqs", "conflicts", "conflicts")),
            start=draws.randrange(0, 2 * MINUTE),
            duration=draws.choice((20 * SECOND, 20 * SECOND, 3 * MINUTE, 3 * MINUTE, HOUR)),
        )
    tempers = tuple(temper for temper in TEMPERS[1:] if sometimes(0.1 if quiet else 0.35))
    found = Mix(
        rates=rates,
        sticky=draws.choice((0.0, 0.5, 0.9)),
        latency=draws.choice((0, 0, 5_000, 5_000 if quiet else 200_000)),
        skew=draws.choice((0, *(5 * SECOND,) * 9, FAR_OFF)),
        jumps=draws.choice((0, 0, 0, 2)),
        duplicates=0.0 if quiet else draws.choice((0.0, 0.0, 0.1, 0.3)),
        deletes_lost=0.0 if quiet else draws.choice((0.0, 0.0, 0.1)),
        delayed=0.0 if quiet else draws.choice((0.0, 0.0, 0.05)),
        stale=draws.choice((0, 0, MINUTE)),
        outage=outage,
        ticks=not sometimes(0.1),
        heartbeat=not sometimes(0.1),
        sweepers=draws.choice((1, 1, 2, 3)),
        executors=draws.choice((1, 2, 3)),
        shards=draws.choice((1, 1, 1, 1, 3)),
        clients=draws.choice((1, 2, 3)),
        requests=draws.choice((4, 6, 10)),
        impatient=draws.choice((0.0, 0.0, 0.2)),
        tempers=("takes", *tempers),
        attempts=draws.choice((1, 2, 2, 3)),
        accounts=draws.choice((2, 3, 4)),
        payments=draws.choice((0.0, 0.5, 0.5, 1.0)),
        pause=draws.choice((SECOND, 30 * SECOND, 2 * MINUTE, 20 * MINUTE)),
        span=draws.choice((MINUTE, 2 * MINUTE, 4 * MINUTE)),
    )
    if sometimes(0.3):
        found = replace(found, recurring=draws.choice((0.2, 0.6)))
    if sometimes(0.3):
        found = replace(found, explicit=draws.choice((0.3, 1.0)))
    if sometimes(0.3):
        # A receiver that is silent for minutes keeps a room full, and all others ask again and again.
        timeouts = (5, 20) if found.explicit else found.timeouts
        found = replace(found, control=draws.choice(CONTROLS), timeouts=timeouts)
    if sometimes(0.1) and not quiet:
        found = replace(found, down=(draws.randrange(MINUTE), draws.choice((30, 120)) * SECOND))
    if found.control is not None:
        found = replace(found, pauses=Random(f"pauses {found!r}").choice((0.0, 0.0, 0.0, 0.2)))
    more = Random(repr(found))  # so that what is added here changes nothing else that is drawn
    found = replace(
        found,
        newer=more.choice((0.0, 0.0, 0.0, 0.0, 0.3, 0.7)),
        poison=more.choice((0, 0, 0, 0, 0, 1, 3)),
        fatal=0.0 if quiet else more.choice((0.0,) * 9 + (0.1,)),
        lost=0 if quiet else more.choice((0,) * 9 + (2,)),
        letters_rest=more.choice((0,) * 9 + (75 * MINUTE,)),
        untried=more.choice((0.0, 0.0, 0.0, 0.2)),
        rates=rates | ({} if quiet else _newest(more)),
        duplicate_key=more.random() < 0.5,
        restated=more.choice((0.0, 0.0, 0.3)),
        lag=more.choice((0,) * 9 + (11 * SECOND,)),
        operations=more.choice((0.0, 0.0, 0.0, 0.3)),
        recorded=more.choice((False, False, False, True)),
    )
    if not quiet and more.random() < _LATER_SHARE:
        return THEMES[more.choice(_LATER)](found, more)
    return found if quiet or not sometimes(0.4) else THEMES[draws.choice(_DRAWN)](found, draws)


def _newest(draws: Random) -> dict[Fault, float]:
    return {fault: draws.choice((0.02, 0.06, 0.2)) for fault in _NEWEST if draws.random() < 0.35}


def themed(draws: Random, theme: str) -> Mix:
    """Draws a run and gives it this theme."""
    return THEMES[theme](replace(drawn(draws), outage=None, zone_moves=None), draws)


def short(draws: Random, theme: str | None = None) -> Mix:
    """Draws a small run, so that several such runs fit where one whole run does: a few requests within half a
    minute, the same faults and tempers and themes, and nobody waits for long. What lasts, or takes many, is left to
    whole runs: calls that are away for an hour, clocks that are far off, outages and pauses of minutes, crowds."""
    mix = drawn(draws) if theme is None else themed(draws, theme)
    outage = mix.outage and replace(
        mix.outage, start=mix.outage.start // 4, duration=min(mix.outage.duration, MINUTE)
    )
    return replace(
        mix,
        outage=outage,
        down=mix.down and (mix.down[0] // 2, min(mix.down[1], MINUTE)),
        poison=0,
        fatal=0.0,
        lost=0,
        letters_rest=0,
        skew=min(mix.skew, 5 * SECOND),
        pause=min(mix.pause, MINUTE),
        sweepers=1,
        executors=min(mix.executors, 2),
        shards=1,
        clients=draws.choice((1, 1, 1, 2)),
        requests=draws.choice((2, 2, 3, 4)),
        span=30 * SECOND,
        waits_max=draws.choice((30, 61, 61, 200)),
        planned_for=3 * MINUTE,
        ends_within=20 * SECOND,
        timeouts=tuple(min(each, 30) for each in mix.timeouts),
    )
