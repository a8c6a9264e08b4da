"""Mistakes about deliveries that register the next one."""

from typing import Final

from tests.simulation.mistakes.bug import API, RECURRENCE, bug

BUGS: Final = (
    bug(
        "a line of deliveries that register each other has no end",
        f"{API}.requests:depth",
        "if int(text) > DEPTH_MAX:",
        "if False:",
        mix="looping",
    ),
    bug(
        "a delivery does not tell the depth of its task",
        "functions.run_tasks.sending:Sender._delivery",
        "depth=task.depth",
        "depth=0",
        mix="looping",
    ),
    bug(
        "a triggered run forgets how many deliveries led to it",
        f"{RECURRENCE}:Runs.out_of_turn",
        "depth=max(run.depth, depth)",
        "depth=run.depth",
        mix="looping",
    ),
)
