"""The engine starts a function's worker when it first needs one more, about a second each: that is done before."""

from typing import Final

from cli.bench import tasks
from cli.bench.arriving import awaited
from cli.bench.bed import Bed
from cli.bench.plan import CLIENTS
from cli.failure import Failure
from cli.progress import step

_CALLS: Final = 25 * CLIENTS
_ROUNDS: Final = 2
_TASKS: Final = 120
_AHEAD_SECONDS: Final = 6
_PATIENCE_SECONDS: Final = 60


def api(bed: Bed) -> None:
    with step("warming up the API"):
        far = tasks.ahead(86_400 * 30)
        forms = [tasks.form(destination, far, 0) for destination in bed.destinations]
        tasks.register(bed, forms * (_CALLS // len(forms)))
        tasks.register_batches(bed, forms * _CALLS, CLIENTS)


def executors(bed: Bed) -> None:
    """Many messages for one instant take as many workers as there may be."""
    with step("warming up the executors"):
        for _ in range(_ROUNDS):
            due_at = tasks.ahead(_AHEAD_SECONDS)
            for destination in bed.destinations:
                destination.clear()
            tasks.register(
                bed, [tasks.form(bed.destinations[number % 2], due_at, number) for number in range(_TASKS)]
            )
            for destination in bed.destinations:
                if not awaited(destination, _TASKS // 2, due_at, _PATIENCE_SECONDS):
                    raise Failure(f"The tasks for the warm-up did not all arrive ({destination.name}).")
