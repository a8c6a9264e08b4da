"""Mistakes about receivers that end their own runs."""

from typing import Final

from tests.simulation.mistakes.bug import DELIVERING, RECORDING, RUNS, bug

BUGS: Final = (
    bug(
        "a late token ends a run",
        f"{RUNS}.acknowledge:_refuse_others",
        "task.token != token",
        "False",
        mix="acknowledged",
    ),
    bug(
        "a delivery ends a run that its receiver must end",
        f"{DELIVERING}:outcome",
        "task.ack is Ack.EXPLICIT",
        "False",
        mix="acknowledged",
    ),
    bug(
        "no attempt follows when a receiver is silent",
        f"{RECORDING}:Recording.follow_up",
        "outbox.defer(Due.of(task), call.message, not_before=task.lease_until)",
        "pass",
        mix="acknowledged",
    ),
)
