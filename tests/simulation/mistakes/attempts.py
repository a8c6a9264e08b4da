"""Mistakes about the work after an attempt: retries, dead letters and failed batches."""

from typing import Final

from tests.simulation.mistakes.bug import BATCH, CLAIMING, RECORDING, RUN, bug

BUGS: Final = (
    bug(
        "an attempt begins although its claim was lost",
        f"{CLAIMING}:Claiming.claim",
        "self._start(of[Written.DONE])",
        "self._start([*of[Written.DONE], *of[Written.CONFLICT]])",
    ),
    bug(
        "a retry is not sent",
        f"{RECORDING}:Recording.follow_up",
        "outbox.retry(task, call.message)",
        "pass",
    ),
    bug(
        "a retry that is written late is left to a sweep that has passed",
        f"{RECORDING}:Recording._is_left_to_a_sweep",
        "return change.points and not horizon.reaches(change.after.due_at, now)",
        "return change.points",
        mix="cut off",
    ),
    bug(
        "a dead task gets no dead letter",
        f"{RECORDING}:Recording.follow_up",
        "outbox.bury(task, call.message)",
        "pass",
    ),
    bug(
        "a message is deleted although its retry could not be sent",
        f"{RUN}:TaskRunner.run",
        "batch.tally.failed_messages |= batch.outbox.failed_messages",
        "pass",
        mix="deaf",
    ),
    bug(
        "a message is deleted although its batch failed",
        f"{RUN}:TaskRunner._calls",
        "batch.fail(calls)",
        "pass",
        mix="deaf",
    ),
    bug(
        "a deferred call is lost",
        f"{BATCH}:Batch.defer",
        "self.outbox.defer(Due.of(task), call.message, not_before=not_before)",
        "pass",
    ),
    bug(
        "an attempt goes under a key of its own",
        "functions.run_tasks.sending:Sender._delivery",
        "run_id=task.id",
        'run_id=f"{task.id}-{task.attempts}"',
    ),
    bug(
        "the attempt's number is used as the token",
        "functions.run_tasks.sending:Sender._delivery",
        "token=task.token",
        "token=task.attempts",
    ),
)
