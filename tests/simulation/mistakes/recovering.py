"""Mistakes in the steps of the state machine `recover`.

No run of the simulation has that machine. Its own test has every state, edge and crash.
"""

from typing import Final

from tests.simulation.mistakes.bug import OPERATE, bug

_TEST: Final = "tests/unit/operate/test_recover.py"
_STEPS: Final = f"{OPERATE}.recover:Recoverer"

BUGS: Final = (
    bug(
        "a recovery leaves out the minute from which it is asked for",
        f"{_STEPS}._stood",
        "instants.minute_of(first) - 1",
        "instants.minute_of(first)",
        test=f"{_TEST}::test_after_an_outage_the_sweep_goes_back_and_catches_up",
    ),
    bug(
        "minutes that were closed before the outage count as swept again",
        f"{_STEPS}._closed",
        ' and note.epoch >= until["epoch"]',
        "",
        test=f"{_TEST}::test_after_an_outage_the_sweep_goes_back_and_catches_up",
    ),
    bug(
        "a span of tokens is left when its step has no time",
        f"{_STEPS}._raise_tokens",
        '"goes_on": minute <= span["last"]',
        '"goes_on": False',
        test=f"{_TEST}::test_all_edges_of_the_machine_are_walked",
    ),
)
