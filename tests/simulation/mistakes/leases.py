"""Mistakes about leases, tokens, attempts and conditional writes of tasks."""

from typing import Final

from tests.simulation.mistakes.bug import BATCH_GET, STATEMENTS, TASKS, TRANSITIONS, bug

BUGS: Final = (
    bug(
        "a task is delivered without the secrets that cannot be opened now",
        "functions.run_tasks.sending:Sender._start",
        "if tenant is None or secrets is None:",
        "if False:",
    ),
    bug("a claim does not raise the token", f"{TRANSITIONS}:_start", "task.token + 1", "task.token"),
    bug("a lease is taken before its end", f"{TRANSITIONS}:claim", "now < task.lease_until", "False"),
    bug(
        "a task begins early", f"{TRANSITIONS}:claim", "RETRYING if now < task.due_at:", "RETRYING if False:"
    ),
    bug(
        "a takeover counts no attempts",
        f"{TRANSITIONS}:claim",
        "task.attempts >= task.retry.max_attempts",
        "False",
        mix="contested",
    ),
    bug(
        "any call redrives a dead task",
        f"{TRANSITIONS}:claim",
        "State.DEAD if due.version == task.version:",
        "State.DEAD:",
        mix="deadly",
    ),
    bug(
        "a redriven task is seen by no audit",
        f"{TRANSITIONS}:claim",
        "return replace(start, audited_from=now)",
        "return start",
        mix="forgotten",
    ),
    bug(
        "a redrive begins after the deadline",
        f"{TRANSITIONS}:claim",
        "State.DEAD if due.version == task.version and (why_late := too_late(task, now)):",
        "State.DEAD if False:",
        mix="forgotten",
    ),
    bug(
        "a missing dead letter is not sent again",
        f"{TRANSITIONS}:claim",
        "return Buried()",
        'return Dropped(why="")',
        mix="deadly",
    ),
    bug(
        "attempts have no end",
        "postdate.domain.retry:RetryPolicy.next_attempt_at",
        "attempts >= self.max_attempts",
        "False",
        mix="deadly",
    ),
    bug(
        "delays have no cap",
        "postdate.domain.retry:RetryPolicy._delay_seconds",
        "min(self.max_seconds, self.initial_seconds * self.multiplier**exponent)",
        "self.initial_seconds * self.multiplier**exponent + self.max_seconds",
    ),
    bug(
        "a moved task has no pointer",
        f"{TRANSITIONS}:edit",
        "points = due_at is not None",
        "points = False",
        mix="moved",
    ),
    bug(
        "a running task can be cancelled",
        f"{TRANSITIONS}:cancel",
        "if not task.state.waits:",
        "if False:",
        (f"{TRANSITIONS}:_move", "if to not in ALLOWED[task.state]:", "if False:"),
    ),
    bug(
        "an outcome is written over a newer claim (no fence)",
        f"{TASKS}:DynamoTasks._update",
        '["version", "lease"] if transition.over_lease else ["version"]',
        "[]",
    ),
    bug(
        "a takeover does not look at the lease it takes",
        f"{TASKS}:DynamoTasks._update",
        '["version", "lease"] if transition.over_lease else ["version"]',
        '["version"]',
        mix="contested",
    ),
    bug(
        "an earlier worker extends the lease (no token check)",
        f"{TASKS}:DynamoTasks._extension",
        ' AND "status"=? AND "token"=? AND "holder"=?',
        "",
        (
            f"{TASKS}:DynamoTasks._extension",
            '{"S": State.RUNNING.value},\n        {"N": str(task.token)},\n        {"S": task.holder or ""},',
            "",
        ),
        mix="contested at receivers",
    ),
    bug(
        "any stored row counts as the worker's own write",
        f"{STATEMENTS}:_is_made",
        "return ",
        "return True or ",
        mix="contested",
    ),
    bug(
        "a throttled change counts as done",
        f"{STATEMENTS}:_judged",
        "return Written.UNAVAILABLE",
        "return Written.DONE",
        mix="deaf",
    ),
    bug(
        "a batch without an answer counts as done",
        f"{STATEMENTS}:Statements.execute",
        "[Written.UNAVAILABLE] * len(chunk)",
        "[Written.DONE] * len(chunk)",
        mix="deaf",
    ),
    bug(
        "a move writes no pointer",
        f"{STATEMENTS}:Statements.execute_together",
        "[change.request, other.request]",
        "[change.request]",
        mix="moved",
    ),
    bug(
        "two writes of one row go in one request",
        f"{STATEMENTS}:_chunks",
        " or any(each.id == statement.id for each in chunk)",
        "",
        mix="contested",
    ),
    bug(
        "a refusal without its row is another's change",
        f"{STATEMENTS}:_lacks_row",
        "return ",
        "return False and ",
        mix="deployed",
    ),
    bug(
        "an existing row is recognised by one of AWS's codes only",
        f"{STATEMENTS}:_code",
        'if code == "ValidationError"',
        "if False",
        mix="deployed",
    ),
    bug(
        "an unread row counts as missing",
        f"{BATCH_GET}:_read_until",
        "if not left:",
        "if True:",
        mix="deaf",
    ),
    bug(
        "unread rows are read again without an end",
        f"{BATCH_GET}:_read_until",
        "if fruitless == _FRUITLESS_MAX or time.monotonic() + pause > deadline:",
        "if False:",
        mix="unread",
    ),
)
