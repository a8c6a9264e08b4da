"""A step of the state machine `operation` -> a few seconds of one operation's work, and where the machine goes next.

A step of the state machine `recover`, which has an `action` -> a part of a recovery.
"""

from collections.abc import Mapping
from typing import Any, Final

from functions.operate.wiring import wired
from postdate.domain.operation import ROUNDS_MAX
from postdate.runtime import machine as machines
from postdate.runtime.observability import logger

_CAUSE_CHARACTERS: Final = 500
# Lambda refused the call: nothing is wrong with the operation, and it can be resumed.
_REFUSED: Final = "Lambda.TooManyRequestsException"


@logger.inject_lambda_context
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The answer is the machine's next input. Raises what the machine is to try again."""
    if "action" in event:
        return wired().recoverer.step(event)
    operation, run, rounds = event["operation_id"], int(event["run"]), int(event.get("rounds", 0))
    if "error" in event:
        _give_up(operation, run, event["error"])
        return {"operation_id": operation, "run": run, "rounds": rounds}
    with wired().parameters.fresh():
        wait = wired().conductor.work(operation, run=run)
    if wait is not None and rounds + 1 >= ROUNDS_MAX:
        # Repeated after a crash, this starts nothing more: the name of an execution is taken once.
        machines.begin(wired().machine, operation, run + 1)
        wait = None
    told = {"action": "operation_worked", "operation": operation, "run": run, "wait_seconds": wait}
    logger.info(
        "an operation went on" if wait is not None else "this run of an operation is over", extra=told
    )
    return {
        "operation_id": operation,
        "run": run,
        "rounds": rounds + 1,
        "goes_on": wait is not None,
        "wait_seconds": wait or 0,
    }


def _give_up(operation: str, run: int, error: Mapping[str, Any]) -> None:
    """The record names the error; its cause is for the log alone."""
    name, cause = str(error.get("Error", "an error")), str(error.get("Cause", ""))
    told = {"action": "operation_given_up", "operation": operation, "run": run, "error": name}
    logger.error("an operation was given up", extra=told | {"cause": cause[:_CAUSE_CHARACTERS]})
    if name == _REFUSED:
        wired().conductor.stop(operation, run=run, why="too much was going on: resume it")
    else:
        wired().conductor.abort(operation, run=run, why=name)
