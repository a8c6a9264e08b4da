"""Sorts of runs that are each bad in one way: most mistakes show within ten runs of the right sort.

The order of the themes is part of what a seed draws, so a new theme goes to the end.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from tests.simulation.mix import Mix
from tests.simulation.themes import calm, faults, money, outages, owners, pressure, recurring, releases, stops

THEMES: Final[dict[str, Callable[[Mix, Random], Mix]]] = {
    "deployed": releases.deployed,
    "contested": faults.contested,
    "contested at receivers": faults.contested_at_receivers,
    "deadly": faults.deadly,
    "deaf": faults.deaf,
    "forsaken": faults.forsaken,
    "forgotten": faults.forgotten,
    "moved": calm.moved,
    "quiet": calm.quiet,
    "impatient": faults.impatient,
    "frozen": money.frozen,
    "mutual": money.mutual,
    "strangers": money.strangers,
    "restated": money.restated,
    "timely": recurring.timely,
    "overslept": recurring.overslept,
    "cut off": outages.cut_off,
    "queued": recurring.queued,
    "zoned": recurring.zoned,
    "crowded": pressure.crowded,
    "backlogged": pressure.backlogged,
    "acknowledged": pressure.acknowledged,
    "acknowledged in a room": pressure.acknowledged_in_a_room,
    "broken down": pressure.broken_down,
    "overbooked": pressure.overbooked,
    "restored": pressure.restored,
    "kept": pressure.kept,
    "kept and crashing": pressure.kept_and_crashing,
    "rewound": releases.rewound,
    "closing": money.closing,
    "paused": pressure.paused,
    "operated": faults.operated,
    "followed": faults.followed,
    "switched": stops.switched,
    "stopped at the instant": stops.stopped_at_the_instant,
    "unread switches": stops.unread_switches,
    "replanned": recurring.replanned,
    "superseded": recurring.superseded,
    "recounted": recurring.recounted,
    "looping": pressure.looping,
    "rationed": pressure.rationed,
    "stored out": pressure.stored_out,
    "confined": pressure.confined,
    "unanswered": pressure.unanswered,
    "rolled back": releases.rolled_back,
    "buried together": faults.buried_together,
    "unwritable": outages.unwritable,
    "unsent": outages.unsent,
    "vanishing": outages.vanishing,
    "unread": outages.unread,
    "owned": owners.owned,
    "restricted": owners.restricted,
    "retained": owners.retained,
    "erased": owners.erased,
    "rowless": releases.rowless,
    "bereft": calm.bereft,
}
