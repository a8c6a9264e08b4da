"""Mistakes planted into the code in memory, one at a time: a simulation that does not find them would find no others.

Each is a place in the code and what stands there instead. A text that is not there any more, once and only once, is an
error: a mistake that no longer applies proves nothing. Some are covered by a neighbouring rule and come in pairs.

Some show seldom in runs of all sorts. These are looked for in runs of the sort in which they show, and in all sorts
only if that finds nothing. The four that nothing may hide, which say so in their names, are looked for in all sorts.
"""

import importlib
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests.simulation.shrink import check_of

_TRANSITIONS: Final = "postdate.domain.transitions"
_MONEY: Final = "postdate.domain.money"
_TASKS: Final = "postdate.stores.tasks_dynamo"
_ROWS: Final = "postdate.stores.rows"
_STATEMENTS: Final = "postdate.stores.statements"
_BATCH_GET: Final = "postdate.stores.batch_get"
_LEDGER: Final = "postdate.stores.ledger_dynamo"
_ACTIONS: Final = "postdate.stores.ledger_actions"
_ACCOUNT: Final = "postdate.stores.account_row"
_KEYS: Final = "postdate.stores.idempotency"
_RUN: Final = "functions.run_tasks.run"
_BATCH: Final = "functions.run_tasks.batch"
_CLAIMING: Final = "functions.run_tasks.claiming"
_DELIVERING: Final = "functions.run_tasks.delivering"
_RECORDING: Final = "functions.run_tasks.recording"
_AGENDA: Final = "postdate.runtime.agenda"
_SETTLE: Final = "functions.settle.run"
_SWEEP: Final = "functions.sweep"
_API: Final = "functions.api"
_RECURRENCE: Final = "postdate.domain.recurrence"
_FOLLOWING: Final = "postdate.domain.following"
_BACKLOG: Final = "postdate.domain.backlog"
_LINE: Final = "postdate.domain.line"
_BEFORE: Final = "functions.run_tasks.before"
_BREAKER: Final = "postdate.domain.breaker"
_GATE: Final = "functions.run_tasks.gate"
_INTAKE: Final = "functions.run_tasks.intake"
_CHAIN: Final = "functions.run_tasks.chain"
_BACKFILL: Final = "functions.run_tasks.backfill"
_FLOW: Final = "postdate.stores.flow_dynamo"
_RUNS: Final = "functions.api.runs"
_OPERATE: Final = "functions.operate"
_RECORD: Final = "functions.record.record"
_RESTATE: Final = "functions.api.accounts.restate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """`place` is `module:name.of.function`; `old` stands in it exactly once."""

    place: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Bug:
    """`mix` names one of the sorts of runs. `short` is set if short runs of the sort find the mistake sooner."""

    name: str
    patches: tuple[Patch, ...]
    mix: str | None = None
    short: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """`seed` of the runs called `mix` showed the mistake, after so many runs; `broken` is the invariant that did not
    hold, or None if all held."""

    bug: Bug
    mix: str
    seed: int
    runs: int
    broken: str | None

    @property
    def check(self) -> str:
        return check_of(self.broken or "")


def _bug(
    name: str,
    place: str,
    old: str,
    new: str,
    *more: tuple[str, str, str],
    mix: str | None = None,
    short: bool = False,
) -> Bug:
    patches = (Patch(place=place, old=old, new=new), *(Patch(place=p, old=o, new=n) for p, o, n in more))
    return Bug(name=name, patches=patches, mix=mix, short=short)


BUGS: Final = (
    # Tasks: lease, fence, attempts.
    _bug(
        "a task is delivered without the secrets that cannot be opened now",
        "functions.run_tasks.sending:Sender._start",
        "if tenant is None or secrets is None:",
        "if False:",
    ),
    _bug("a claim does not raise the token", f"{_TRANSITIONS}:_start", "task.token + 1", "task.token"),
    _bug("a lease is taken before its end", f"{_TRANSITIONS}:claim", "now < task.lease_until", "False"),
    _bug(
        "a task begins early", f"{_TRANSITIONS}:claim", "RETRYING if now < task.due_at:", "RETRYING if False:"
    ),
    _bug(
        "a takeover counts no attempts",
        f"{_TRANSITIONS}:claim",
        "task.attempts >= task.retry.max_attempts",
        "False",
        mix="contested",
    ),
    _bug(
        "any call redrives a dead task",
        f"{_TRANSITIONS}:claim",
        "State.DEAD if due.version == task.version:",
        "State.DEAD:",
        mix="deadly",
    ),
    _bug(
        "a redriven task is seen by no audit",
        f"{_TRANSITIONS}:claim",
        "return replace(start, audited_from=now)",
        "return start",
        mix="forgotten",
    ),
    _bug(
        "a redrive begins after the deadline",
        f"{_TRANSITIONS}:claim",
        "State.DEAD if due.version == task.version and (why_late := too_late(task, now)):",
        "State.DEAD if False:",
        mix="forgotten",
    ),
    _bug(
        "a missing dead letter is not sent again",
        f"{_TRANSITIONS}:claim",
        "return Buried()",
        'return Dropped(why="")',
        mix="deadly",
    ),
    _bug(
        "attempts have no end",
        "postdate.domain.retry:RetryPolicy.next_attempt_at",
        "attempts >= self.max_attempts",
        "False",
        mix="deadly",
    ),
    _bug(
        "delays have no cap",
        "postdate.domain.retry:RetryPolicy._delay_seconds",
        "min(self.max_seconds, self.initial_seconds * self.multiplier**exponent)",
        "self.initial_seconds * self.multiplier**exponent + self.max_seconds",
    ),
    _bug(
        "a moved task has no pointer",
        f"{_TRANSITIONS}:edit",
        "points = due_at is not None",
        "points = False",
        mix="moved",
    ),
    _bug(
        "a running task can be cancelled",
        f"{_TRANSITIONS}:cancel",
        "if not task.state.waits:",
        "if False:",
        (f"{_TRANSITIONS}:_move", "if to not in ALLOWED[task.state]:", "if False:"),
    ),
    _bug(
        "an outcome is written over a newer claim (no fence)",
        f"{_TASKS}:DynamoTasks._update",
        '["version", "lease"] if transition.over_lease else ["version"]',
        "[]",
    ),
    _bug(
        "a takeover does not look at the lease it takes",
        f"{_TASKS}:DynamoTasks._update",
        '["version", "lease"] if transition.over_lease else ["version"]',
        '["version"]',
        mix="contested",
    ),
    _bug(
        "an earlier worker extends the lease (no token check)",
        f"{_TASKS}:DynamoTasks._extension",
        ' AND "status"=? AND "token"=? AND "holder"=?',
        "",
        (
            f"{_TASKS}:DynamoTasks._extension",
            '{"S": State.RUNNING.value},\n        {"N": str(task.token)},\n        {"S": task.holder or ""},',
            "",
        ),
        mix="contested at receivers",
    ),
    _bug(
        "any stored row counts as the worker's own write",
        f"{_STATEMENTS}:_is_made",
        "return ",
        "return True or ",
        mix="contested",
    ),
    _bug(
        "a throttled change counts as done",
        f"{_STATEMENTS}:_judged",
        "return Written.UNAVAILABLE",
        "return Written.DONE",
        mix="deaf",
    ),
    _bug(
        "a batch without an answer counts as done",
        f"{_STATEMENTS}:Statements.execute",
        "[Written.UNAVAILABLE] * len(chunk)",
        "[Written.DONE] * len(chunk)",
        mix="deaf",
    ),
    _bug(
        "a move writes no pointer",
        f"{_STATEMENTS}:Statements.execute_together",
        "[change.request, other.request]",
        "[change.request]",
        mix="moved",
    ),
    _bug(
        "two writes of one row go in one request",
        f"{_STATEMENTS}:_chunks",
        " or any(each.id == statement.id for each in chunk)",
        "",
        mix="contested",
    ),
    _bug(
        "a refusal without its row is another's change",
        f"{_STATEMENTS}:_lacks_row",
        "return ",
        "return False and ",
        mix="deployed",
    ),
    _bug(
        "an existing row is recognised by one of AWS's codes only",
        f"{_STATEMENTS}:_code",
        'if code == "ValidationError"',
        "if False",
        mix="deployed",
    ),
    _bug(
        "an unread row counts as missing",
        f"{_BATCH_GET}:_read_until",
        "if not left:",
        "if True:",
        mix="deaf",
    ),
    _bug(
        "unread rows are read again without an end",
        f"{_BATCH_GET}:_read_until",
        "if fruitless == _FRUITLESS_MAX or time.monotonic() + pause > deadline:",
        "if False:",
        mix="deaf",
    ),
    # Tasks: what follows from an attempt.
    _bug(
        "an attempt begins although its claim was lost",
        f"{_CLAIMING}:Claiming.claim",
        "self._start(of[Written.DONE])",
        "self._start([*of[Written.DONE], *of[Written.CONFLICT]])",
    ),
    _bug(
        "a retry is not sent",
        f"{_RECORDING}:Recording.record",
        "outbox.retry(task, call.message)",
        "pass",
    ),
    _bug(
        "a retry that is written late is left to a sweep that has passed",
        f"{_RECORDING}:Recording._is_left_to_a_sweep",
        "return change.points and not is_open",
        "return change.points",
        mix="cut off",
    ),
    _bug(
        "a dead task gets no dead letter",
        f"{_RECORDING}:Recording.record",
        "outbox.bury(task, call.message)",
        "pass",
    ),
    _bug(
        "a message is deleted although its retry could not be sent",
        f"{_RUN}:TaskRunner.run",
        "batch.tally.failed_messages |= batch.outbox.failed_messages",
        "pass",
        mix="deaf",
    ),
    _bug(
        "a message is deleted although its batch failed",
        f"{_RUN}:TaskRunner._calls",
        "batch.fail(calls)",
        "pass",
        mix="deaf",
    ),
    _bug(
        "a deferred call is lost",
        f"{_BATCH}:Batch.defer",
        "self.outbox.defer(Due.of(task), call.message, not_before=not_before)",
        "pass",
    ),
    _bug(
        "an attempt goes under a key of its own",
        "functions.run_tasks.sending:Sender._delivery",
        "run_id=task.id",
        'run_id=f"{task.id}-{task.attempts}"',
    ),
    _bug(
        "the attempt's number is used as the token",
        "functions.run_tasks.sending:Sender._delivery",
        "token=task.token",
        "token=task.attempts",
    ),
    # The sweep.
    _bug(
        "there is no closing pass",
        "postdate.domain.sweeping:wants_call",
        "return stage is Stage.OPEN or moved_at >= unseen_from",
        "return stage is Stage.OPEN",
    ),
    _bug(
        "a pass is noted before its calls are sent",
        f"{_SWEEP}.sweep_group:GroupSweeper.sweep",
        "found = list(self._found(sweep))",
        "found = list(self._found(sweep)); self.passes.record("
        "Progress(minute=sweep.minute, group=sweep.group, stage=sweep.stage, opened_at=opened_at))",
        mix="deaf",
    ),
    _bug(
        "the audit sends nothing",
        "postdate.domain.sweeping:wants_call",
        "return overdue and not leased",
        "return False and not leased",
    ),
    _bug(
        "the watermark rises over an unfinished minute",
        f"{_SWEEP}.tick:Ticker._raise_watermark",
        "done = list(takewhile(audited, minutes))",
        "done = list(minutes)",
    ),
    _bug(
        "a sweeper raises a watermark that was reset",
        "postdate.stores.passes:DynamoPasses.raise_watermark",
        "lower & self._is_epoch(to.epoch)",
        "lower",
        mix="rewound",
    ),
    _bug(
        "passes of an earlier epoch count",
        "postdate.domain.sweeping:Horizon.believed",
        "done.epoch < epoch or ",
        "",
        mix="rewound",
    ),
    _bug(
        "the watermark rises over passes of an earlier epoch",
        f"{_SWEEP}.tick:Ticker._raise_watermark",
        "done.epoch == mark.epoch",
        "True",
        mix="rewound",
    ),
    _bug(
        "packets that the queue refused are lost",
        "postdate.runtime.queue:SqsQueue._send_chunk",
        'failure["Id"] for failure in response.get("Failed", ())',
        'failure["Id"] for failure in ()',
        mix="deaf",
    ),
    _bug(
        "a failed send raises no error",
        "postdate.runtime.queue:SqsQueue._send_chunk",
        'raise Unavailable(f"{type(error).__name__} on sending") from error',
        "return",
        mix="deaf",
    ),
    # Registration.
    _bug(
        "a key is reserved without a condition",
        f"{_KEYS}:DynamoReservations.reserve",
        "save(condition=free)",
        "save()",
        mix="impatient",
    ),
    _bug(
        "another body under a key is the same request",
        f"{_API}.idempotency:stands_for",
        "found.fingerprint != wanted.fingerprint",
        "False",
    ),
    _bug(
        "a key's item is made anew by the next try",
        f"{_KEYS}:Reservation.anew",
        "item_id=self.item_id,",
        "",
        (f"{_API}.idempotency:stands_for", "now < _minute_ends(found) or written", "written"),
        mix="impatient",
    ),
    _bug(
        "a retry answers with its own instant instead of the stored one",
        f"{_API}.idempotency:as_written",
        "reservation.of(created_at)",
        "reservation",
        (f"{_API}.idempotency:stands_for", "now < _minute_ends(found) or written(found.item_id)", "False"),
        mix="impatient",
    ),
    _bug(
        "a late registration sends no call",
        f"{_API}.tasks.one_time.register:TaskRegistrar.register",
        "calls.send(called, queue=self.queue, horizon=self.horizon, now=self.clock.now())",
        "pass",
        mix="quiet",
    ),
    _bug(
        "a late payment sends no call",
        f"{_API}.payments.register:PaymentRegistrar._write",
        "calls.send([*waiting, *written], queue=self.queue, horizon=self.horizon, now=self.clock.now())",
        "pass",
        mix="quiet",
    ),
    _bug(
        "a change counts although another request was faster",
        f"{_API}.tasks.one_time.change:TaskChanger._changed",
        "written is Written.DONE",
        "written is not Written.UNAVAILABLE",
        mix="contested",
    ),
    _bug(
        "If-Match is not checked",
        f"{_API}.payments.change:PaymentChanger._changed",
        "version != payment.version",
        "False",
        mix="moved",
    ),
    _bug(
        "a tenant reaches another's tasks",
        f"{_API}.tasks.one_time.change:TaskChanger.load",
        "task is None or task.tenant != tenant",
        "task is None",
    ),
    _bug(
        "a tenant reaches another's payments",
        f"{_API}.payments.change:PaymentChanger.load",
        "payment is None or tenant not in (None, payment.tenant)",
        "payment is None",
    ),
    _bug(
        "a repeated deposit is another deposit",
        f"{_API}.accounts.deposit:Cashier.move",
        "posting = _posting(tenant, order, reservation, now=now)",
        "posting = _posting(tenant, order, wanted, now=now)",
        mix="frozen",
    ),
    # Money.
    _bug(
        "a payment changes at any version (no condition on its state)",
        f"{_ACTIONS}:_update",
        '= :before"',
        '= :before OR attribute_exists(id)"',
    ),
    _bug(
        "a payment settles again and again",
        f"{_ACTIONS}:_update",
        '= :before"',
        '= :before OR attribute_exists(id)"',
        (f"{_ACTIONS}:_put", "attribute_not_exists(id)", "attribute_not_exists(id) OR attribute_exists(id)"),
        mix="frozen",
    ),
    _bug("an account falls below zero", f"{_ACCOUNT}:update_of", "if taken:", "if False:", mix="frozen"),
    _bug(
        "incoming money of a transaction pays for its outgoing money",
        f"{_ACCOUNT}:update_of",
        '("available", total.available_taken)',
        '("available", max(0, -total.available))',
        mix="mutual",
    ),
    _bug(
        "payments are settled in any order",
        "postdate.domain.posting:in_order",
        "sorted(postings, key=lambda posting: posting.instant)",
        "list(postings)",
        (f"{_AGENDA}:take_due", "list(taken.values())", "list(reversed(taken.values()))"),
        mix="mutual",
    ),
    _bug(
        "incoming payments go first, at any instant",
        "postdate.domain.posting:_arranged",
        "if _goes_both_ways(group):",
        "if False:",
        mix="mutual",
    ),
    _bug(
        "a refused pack of strangers counts as written",
        f"{_LEDGER}:DynamoLedger._post_pack",
        "if not self._cancelled(actions):",
        "if self._cancelled(actions) or True:",
        mix="strangers",
    ),
    _bug(
        "a frozen account pays", f"{_ACCOUNT}:update_of", "if total.needs_active:", "if False:", mix="frozen"
    ),
    _bug(
        "an account that a refusal leaves out is missing",
        f"{_LEDGER}:DynamoLedger._with_accounts",
        '"Item" not in reason',
        "False",
        mix="frozen",
    ),
    _bug(
        "an account with available money is closed",
        f"{_ACCOUNT}:closing_of",
        '"#available = :none"',
        '":none = :none"',
        mix="closing",
    ),
    _bug(
        "an account with reserved money is closed",
        f"{_ACCOUNT}:closing_of",
        '"#reserved = :none"',
        '":none = :none"',
        (f"{_API}.accounts.change:AccountChanger.close", "if account.balance:", "if account.available:"),
        mix="closing",
    ),
    _bug(
        "a closed account is paid",
        f"{_ACCOUNT}:update_of",
        "if total.needs_active:",
        "if False:",
        mix="closing",
    ),
    _bug(
        "a closed account takes an adjustment",
        f"{_ACCOUNT}:update_of",
        "if total.needs_open and not total.needs_active:",
        "if False:",
        mix="closing",
    ),
    _bug("a cancel leaves the hold", f"{_MONEY}:cancel", "legs=_released(payment)", "legs=()"),
    _bug(
        "a failure leaves the hold",
        f"{_MONEY}:fail",
        "_released(payment) if payer_is_there else ()",
        "()",
        mix="frozen",
    ),
    _bug(
        "a changed amount leaves the hold",
        f"{_MONEY}:edit",
        "if more or after.planned_at != payment.planned_at",
        "if False",
        mix="moved",
    ),
    _bug(
        "a settlement takes available money and leaves the hold",
        f"{_MONEY}:settle",
        "if payment.held\n",
        "if False\n",
    ),
    _bug(
        "a movement is named after its attempt",
        f"{_MONEY}:movement_of",
        "payment_movement_id(payment.id)",
        "payment_movement_id(payment.id)[:-1] + str(payment.attempts % 10)",
        mix="frozen",
    ),
    _bug(
        "a payment begins early",
        f"{_MONEY}:verdict",
        "payment.due_at > now:",
        "False:",
        ("postdate.use_cases.settling:_Attempt._first", "or payment.planned_at > now", ""),
        (f"{_MONEY}:settle", "if now < payment.planned_at:", "if False:"),
    ),
    _bug(
        "a moved payment has no pointer",
        f"{_MONEY}:edit",
        "points = due_at is not None",
        "points = False",
        mix="moved",
    ),
    _bug(
        "any conflicting row counts as the posting's own",
        "postdate.stores.ledger_answers:judged",
        'unmet and _is_same(reason.get("Item"), action.row)',
        "unmet",
        mix="frozen",
    ),
    _bug(
        "a posting without an answer counts as done",
        f"{_LEDGER}:DynamoLedger._write",
        "_each(left, PostingAnswer.UNAVAILABLE)",
        "_each(left, PostingAnswer.DONE)",
        mix="deaf",
    ),
    _bug(
        "a failed settlement sends no retry",
        f"{_SETTLE}:PaymentRunner._send_on",
        "self._outbox.retry(payment, call.message)",
        "pass",
        mix="frozen",
    ),
    _bug(
        "the last failed settlement sends no dead letter",
        f"{_SETTLE}:PaymentRunner._send_on",
        "self._outbox.bury(payment, call.message)",
        "pass",
        mix="frozen",
    ),
    _bug(
        "a payment's message is deleted although no row could be read",
        f"{_SETTLE}:PaymentRunner._read",
        "self._fail(calls)",
        "pass",
        mix="deaf",
    ),
    _bug(
        "a deferred payment is lost",
        f"{_SETTLE}:PaymentRunner._admit",
        "self._outbox.defer(Due.of(payment), call.message, not_before=None)",
        "pass",
        mix="moved",
    ),
    # Setting right.
    _bug(
        "an account that changed just now is set from its indexes",
        f"{_RESTATE}:Restater._difference",
        "_refuse_if_changed(books.account, since=began - QUIET)\n    self.clock",
        "self.clock",
        mix="restated",
    ),
    _bug(
        "a movement that cannot be read does not count",
        f"{_API}.audit:Auditor._movements",
        "limit=_PAGE, whole=True",
        "limit=_PAGE",
        mix="restated",
    ),
    _bug(
        "an adjustment to the journal has a key of its own",
        f"{_RESTATE}:Restater.restate",
        'key=f"adjustment {key}"',
        'key=f"restate {key}"',
        mix="restated",
    ),
    _bug(
        "an account is set right at any version",
        f"{_RESTATE}:_missing",
        "at_version=account.version,",
        "",
        (
            f"{_RESTATE}:Restater._difference",
            "_missing(books) != first",
            "False",
        ),
        (
            f"{_RESTATE}:Restater._difference",
            "_refuse_if_changed(books.account, since=began - QUIET)\n    self.clock",
            "self.clock",
        ),
        mix="restated",
    ),
    # Recurring tasks.
    _bug(
        "the next run is not written",
        f"{_FOLLOWING}:_at_its_instant",
        "if not is_last and backlog.following is not None:",
        "if False:",
        mix="timely",
    ),
    _bug(
        "a run begins before the next one is written",
        f"{_CHAIN}:_link",
        "if wrong in results:",
        "if False:",
        mix="timely",
    ),
    _bug(
        "a plan leaves out an instant",
        f"{_BACKLOG}:Elapsed.of",
        "each.due_at > now:",
        "each.due_at > now + timedelta(seconds=45):",
        mix="timely",
    ),
    _bug(
        "a caught-up run is seen by no audit",
        f"{_TASKS}:DynamoTasks.add",
        "task.moved_at if task.is_written_late else None",
        "None",
        mix="overslept",
    ),
    _bug(
        "a late run writes no rows of missed runs",
        f"{_FOLLOWING}:_at_its_instant",
        "rows.append(row)",
        "rows += [] if each.state is State.MISSED else [row]",
        mix="timely",
    ),
    _bug(
        "overlap is not checked",
        f"{_FOLLOWING}:_skipped",
        "if not line.not_over or definition.overlap is Overlap.ALLOW:",
        "if True:",
        (f"{_FOLLOWING}:_instead", "turn.definition.overlap is Overlap.QUEUE", "False"),
        mix="timely",
    ),
    _bug(
        "a new plan does not know the runs of the old",
        f"{_RECURRENCE}:Runs.begins",
        "before=definition.before",
        "before=()",
        mix="timely",
    ),
    _bug(
        "a pause forgets the runs in progress",
        "postdate.domain.definition:_moved",
        '"before": reached.not_over',
        '"before": () if to is State.PAUSED else reached.not_over',
        (
            f"{_API}.tasks.recurring.chain:PlannedChain.reached",
            "if leader is None or",
            "if definition.reason or leader is None or",
        ),
        mix="timely",
    ),
    _bug(
        "a new plan does not know how many runs there were",
        f"{_API}.tasks.recurring.chain:PlannedChain.reached",
        "runs = max(definition.runs_before, runs)",
        "runs = definition.runs_before",
        mix="timely",
    ),
    _bug(
        "the newest ten rows tell how many runs there were",
        f"{_API}.tasks.recurring.chain:PlannedChain._leader",
        "return self._newest_of(definition, near) or next(",
        "return next((run for run in self.newest(definition) if _is_of(run, definition)"
        " and run.recurs and run.recurs.number), None) if near else next(",
        mix="timely",
    ),
    _bug(
        "the run to come may begin while its plan is changed",
        f"{_API}.tasks.recurring.change:DefinitionChanger._changed",
        "None if coming is None else end(coming)",
        "None",
        (f"{_BEFORE}:_ended_first", "lines[run.id].to_end if plan and is_current(run, plan) else ()", "()"),
        mix="timely",
    ),
    _bug(
        "the search ends at a run that never began",
        f"{_LINE}:line",
        "todo.extend((each, skipped, is_far) for each, skipped in links(row))",
        "pass",
        mix="timely",
    ),
    _bug(
        "a run that was passed over may begin beside the later one",
        f"{_BEFORE}:_ended_first",
        "lines[run.id].to_end if plan and is_current(run, plan) else ()",
        "()",
        mix="timely",
    ),
    _bug(
        "a queue has no bound",
        f"{_FOLLOWING}:_skipped",
        "line.waiting >= QUEUE_MAX",
        "False",
        mix="queued",
    ),
    _bug(
        "a run that waits writes its row each time it asks",
        f"{_FOLLOWING}:_waits",
        "asked = run.due_at != run.planned_at and",
        "asked = False and",
        mix="queued",
    ),
    _bug(
        "all waiting runs poll",
        f"{_FOLLOWING}:_again",
        "QUEUE_REST if turn.line.rests else QUEUE_POLL",
        "QUEUE_POLL",
        mix="queued",
    ),
    _bug(
        "the next run of a queue is not woken",
        f"{_FOLLOWING}:_again",
        "_woken(turn.around.since, turn.now)",
        "None",
        mix="queued",
    ),
    _bug(
        "the next run is looked for from the instant of the last",
        f"{_BACKLOG}:Elapsed.of",
        "schedule.after(own.wall)",
        "schedule.walk(own.at)",
        mix="zoned",
    ),
    _bug(
        "a paused task runs on",
        f"{_FOLLOWING}:_void",
        "definition.state is definitions.State.PAUSED",
        "False",
        (
            f"{_API}.tasks.recurring.change:DefinitionChanger._changed",
            "None if coming is None else end(coming)",
            "None",
        ),
        mix="timely",
    ),
    _bug(
        "a cancelled task runs on",
        f"{_FOLLOWING}:_void",
        "definition.state is definitions.State.CANCELLED",
        "False",
        (f"{_API}.tasks.recurring.chain:PlannedChain._end", "self.tasks.commit(changes)", "None"),
        mix="timely",
    ),
    _bug(
        "runs of an older plan begin",
        f"{_FOLLOWING}:_void",
        "definition.plan != recurs.plan",
        "False",
        (
            f"{_API}.tasks.recurring.change:DefinitionChanger._changed",
            "None if coming is None else end(coming)",
            "None",
        ),
        mix="timely",
    ),
    _bug(
        "max_runs is not checked",
        f"{_FOLLOWING}:_at_its_instant",
        "(most is not None and made >= most)",
        "False",
        (f"{_FOLLOWING}:follow", "number > most", "False"),
        mix="timely",
    ),
    _bug(
        "a task is written before its first run",
        f"{_API}.tasks.recurring.register:DefinitionRegistrar._planned",
        "first = self.chain.begin(stored, now=now)",
        "self.definitions.add(stored); first = self.chain.begin(stored, now=now)",
        mix="timely",
    ),
    _bug(
        "a repeated trigger makes another run",
        f"{_API}.tasks.recurring.by_hand:ByHand.trigger",
        "replace(self._run_now(definition, reservation.due_at, depth), id=reservation.item_id)",
        "self._run_now(definition, reservation.due_at, depth)",
        mix="timely",
    ),
    _bug(
        "a backfilled run is left in its minute",
        f"{_RECURRENCE}:Runs.backfilled",
        "replace(run, due_at=now, moved_at=now, expires_at=expires_at)",
        "replace(run, expires_at=expires_at)",
        (f"{_BACKFILL}:BackfillTarget._write", "if waiting:", "if False:"),
        mix="timely",
    ),
    _bug(
        "a step of a backfill ends without the step after it",
        f"{_BACKFILL}:BackfillTarget._take",
        "if following is not None:",
        "if False:",
        mix="timely",
    ),
    _bug(
        "a step of a backfill ends though its runs could not be written",
        f"{_BACKFILL}:BackfillTarget._write",
        "if not _THERE.issuperset(self.tasks.add(missing[start : start + _PART])):",
        "if not self.tasks.add(missing[start : start + _PART]):",
        mix="timely",
    ),
    # Flow control.
    _bug(
        "a task that needs a place takes none",
        f"{_GATE}:Gate._has_place",
        "return task.state.waits and rules.holds(",
        "return True or rules.holds(",
        mix="crowded",
    ),
    _bug(
        "a place is given twice",
        f"{_FLOW}:DynamoFlow._taken",
        '"attribute_not_exists(#ends) OR #ends < :now"',
        '"attribute_not_exists(#ends) OR #ends < :now OR attribute_exists(#ends)"',
        mix="crowded",
    ),
    _bug(
        "a place is given after the end of the lifetime",
        f"{_GATE}:Gate._taken",
        "now=now, latest=latest - _MOMENT,",
        "now=now, latest=latest + timedelta(days=365),",
        mix="backlogged",
    ),
    _bug(
        "a waiting task does not expire",
        f"{_TRANSITIONS}:too_late",
        "if instant >= task.ends_at else None",
        "if False else None",
        mix="backlogged",
    ),
    _bug(
        "a paused key lets runs begin",
        f"{_GATE}:Gate._past_pauses",
        "self._set[key].paused_at is not None",
        "False",
        mix="paused",
    ),
    _bug(
        "a resumed key forgets its waiters",
        "postdate.domain.flow_key:FlowKey.asks_again_from",
        "return now + min(",
        "return now + timedelta(days=20) + min(",
        mix="paused",
    ),
    _bug(
        "what a worker read of a key counts for ever",
        "functions.run_tasks.flow_keys:FlowKeys.known",
        "now >= self._known[key][0] + _FRESH",
        "False",
        mix="paused",
    ),
    _bug(
        "a room is never full",
        "postdate.domain.flow:enter",
        "len(inside) < parallelism",
        "True",
        mix="crowded",
    ),
    _bug(
        "a room is entered over another worker's change",
        f"{_FLOW}:DynamoFlow.change_room",
        '"#version = :before"',
        '"#version = :before OR attribute_exists(#version)"',
        mix="crowded",
    ),
    _bug(
        "waiting uses up attempts",
        f"{_TRANSITIONS}:postpone",
        "0 if task.state is State.DEAD else task.attempts",
        "0 if task.state is State.DEAD else task.attempts + 1",
        mix="crowded",
    ),
    _bug(
        "a postponed call is lost",
        f"{_RECORDING}:Recording.record",
        "outbox.postpone(task, call.message)",
        "pass",
        mix="crowded",
    ),
    _bug(
        "a run at its receiver leaves its room",
        f"{_GATE}:Gate.left",
        "if each.after.state is State.RUNNING",
        "if False",
        (f"{_GATE}:Gate.left", "if each.after.state is not State.RUNNING", "if True"),
        mix="acknowledged in a room",
    ),
    # Breakers.
    _bug(
        "an attempt counts although no call was sent",
        f"{_TRANSITIONS}:release",
        "attempts = task.attempts - 1",
        "attempts = task.attempts",
        mix="overbooked",
    ),
    _bug(
        "a failed attempt does not count",
        f"{_DELIVERING}:outcome",
        "if isinstance(receipt, Untried):",
        "if isinstance(receipt, Untried) or getattr(receipt, 'http_status', 0) == 500:",
        mix="crowded",
    ),
    _bug(
        "a breaker counts calls that were not sent",
        f"{_DELIVERING}:Delivering._report",
        "if not isinstance(receipt, Untried):",
        "if True:",
        mix="overbooked",
    ),
    _bug(
        "a breaker never opens",
        f"{_BREAKER}:failed",
        "if failures >= FAILURES_TO_OPEN",
        "if False",
        mix="broken down",
    ),
    _bug(
        "a breaker opens at once",
        f"{_BREAKER}:failed",
        "if failures >= FAILURES_TO_OPEN",
        "if failures >= 1",
    ),
    _bug(
        "a breaker never closes",
        f"{_BREAKER}:answered",
        "return Breaker(closed_at=closed_at, slow_until=breaker.slow_until, version=breaker.version + 1)",
        "return breaker",
        mix="broken down",
    ),
    _bug(
        "an open breaker does not stop a call",
        f"{_GATE}:Gate._past_breakers",
        "known[way].state(now)",
        "BreakerState.CLOSED",
        (
            "functions.run_tasks.circuits:Circuits.probe",
            "return before.state(now) is State.CLOSED",
            "return True",
        ),
        mix="broken down",
    ),
    _bug(
        "held tasks begin all at once",
        f"{_GATE}:Gate._past_breakers",
        "yield from self._in_turn(way, some, now)",
        "pass",
        mix="restored",
    ),
    _bug(
        "a start is given twice",
        f"{_FLOW}:DynamoFlow._taken",
        "'#ends + :wide' if ahead else ':end'",
        "':end'",
        mix="restored",
    ),
    _bug(
        "probes grow rarer from the first minute on",
        f"{_BREAKER}:_open_for",
        "PROBE_EVERY if down_for < OFTEN_FOR else",
        "PROBE_EVERY * breaker.opened if down_for < OFTEN_FOR else",
        mix="restored",
    ),
    # What a worker does while deliveries keep it.
    _bug(
        "a busy worker receives no messages",
        f"{_INTAKE}:Intake.asks_at",
        "if self.asks or",
        "if True or",
        mix="kept",
    ),
    _bug(
        "a worker deletes messages before it handles them",
        f"{_INTAKE}:Intake.let_go",
        "self._open.keys() - set(unfinished)",
        "list(self._open)",
        mix="kept and crashing",
    ),
    _bug(
        "a worker deletes messages that it could not finish",
        f"{_INTAKE}:Intake.let_go",
        "for message in done if message.message_id not in failed",
        "for message in done",
        mix="kept and crashing",
    ),
    _bug(
        "calls to a slow destination stay where they are",
        f"{_GATE}:Gate.elsewhere",
        "return {id for id, way in ways.items() if way in slow}",
        "return set()",
        (f"{_GATE}:Gate._past_breakers", "known[way].is_slow(now)", "False"),
        mix="kept",
    ),
    _bug(
        "a destination is slow at once",
        "functions.run_tasks.in_flight:InFlight.begin",
        "self._watched.append((now, delivery, circuit))",
        "self._watched.append((now - SLOW_AFTER, delivery, circuit))",
        mix="kept",
    ),
    _bug(
        "a moved call is lost",
        f"{_BATCH}:Batch.move",
        "self.outbox.move(call.due, call.message)",
        "pass",
        mix="kept",
    ),
    # What only the boundary to AWS shows.
    _bug(
        "conflicts are tried again without an end",
        f"{_LEDGER}:DynamoLedger._write",
        "patience -= 1",
        "patience -= 0",
        mix="frozen",
    ),
    _bug(
        "a claim that cannot be written is tried without an end",
        f"{_CLAIMING}:Claiming.claim",
        "in range(_TRIES)",
        "in range(1000)",
        mix="deaf",
    ),
    _bug(
        "a list is made of another tenant's rows",
        f"{_TASKS}:DynamoTasks._list",
        "listing_key(wanted.tenant,",
        'listing_key("zeta",',
    ),
    _bug(
        "a task is listed as another tenant's",
        "postdate.stores.task_row:_listings",
        "listing_key(task.tenant,",
        'listing_key("zeta",',
    ),
    _bug(
        "a worker reads another tenant than the task's",
        "functions.run_tasks.sending:Sender.prefetch",
        "self._tenant(tenant)",
        'self._tenant("zeta")',
    ),
    # Code of two versions side by side, and messages that nobody can read.
    _bug(
        "a field that newer code has added makes another request",
        f"{_API}.forms:_counting",
        "exclude_defaults=True",
        "exclude_defaults=False",
        mix="deployed",
    ),
    _bug(
        "a message with an unknown field is refused",
        "postdate.runtime.queue:received",
        'if body["form"] != _FORM or',
        'if body["form"] != _FORM or body.keys() - {"form", "tenant", "via", "dues", "seen"} or',
    ),
    _bug(
        "a row that only newer code can read stops other rows",
        f"{_ROWS}:readable",
        "except Exception as error:",
        "except KeyError as error:",
        mix="deployed",
    ),
    _bug(
        "a task that only newer code can read counts as gone",
        f"{_CHAIN}:RunChain._planned",
        "if run.task_id not in found.unreadable",
        "if True",
        mix="deployed",
    ),
    _bug(
        "a change of a payment writes the row anew",
        f"{_ACTIONS}:_update",
        "    changed = [",
        """    return {
        "Put": {
            "TableName": table,
            "Item": after,
            "ConditionExpression": "version = :before",
            "ExpressionAttributeValues": {":before": before["version"]},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }
    changed = [""",
    ),
    _bug(
        "a field of newer code hides the writer's own change",
        f"{_STATEMENTS}:_is_made",
        "and all(",
        "and 'later' not in stored and all(",
        mix="deployed",
    ),
    _bug(
        "an unreadable message is dropped",
        "postdate.runtime.records:read",
        'unreadable.append(record["messageId"])',
        "pass",
    ),
    _bug(
        "an unreadable message stops the others of its batch",
        "postdate.runtime.records:read",
        "except ValueError:",
        "except KeyError:",
    ),
    # Receivers that have the word.
    _bug(
        "a late token ends a run",
        f"{_RUNS}.acknowledge:_refuse_others",
        "task.token != token",
        "False",
        mix="acknowledged",
    ),
    _bug(
        "a delivery ends a run that its receiver must end",
        f"{_DELIVERING}:outcome",
        "task.ack is Ack.EXPLICIT",
        "False",
        mix="acknowledged",
    ),
    _bug(
        "no attempt follows when a receiver is silent",
        f"{_RECORDING}:Recording.record",
        "outbox.defer(Due.of(task), call.message, not_before=task.lease_until)",
        "pass",
        mix="acknowledged",
    ),
    # Operations.
    _bug(
        "a repeated slice of an operation acts on any version",
        f"{_OPERATE}.actors:acted",
        "item.version != entry.version",
        "False",
        mix="operated",
    ),
    _bug(
        "an operation records a slice before it acts",
        f"{_OPERATE}.carry_out:_Work._act",
        "acted = actors.acted(",
        "sent = [Entry(id=each.id, version=each.version, outcome=Outcome.SENT, at=now) for each in entries]\n"
        "    self._record(page.changed(sent))\n"
        "    page = self._pages[page.number]\n"
        "    acted = actors.acted(",
        mix="operated",
    ),
    _bug(
        "an operation tells an item as changed that its own crashed slice changed",
        f"{_OPERATE}.actors:_before",
        "if not rules.was_acted_on(operation, entry, item):",
        "if True:",
        mix="operated",
    ),
    _bug(
        "an operation never counts what a crash left uncounted",
        f"{_OPERATE}.carry_out:_Work.work",
        "if rules.counted(self._pages.values()) != self._operation.counts:",
        "if False:",
        mix="operated",
    ),
    _bug(
        "an operation is over before the ends of its attempts",
        f"{_OPERATE}.carry_out:_Work._wait_for_ends",
        "if open and now < max(open) + rules.WATCHED_FOR:",
        "if False:",
        mix="operated",
    ),
    _bug(
        "the start of an operation is recorded before its execution begins",
        f"{_API}.operations.plan:Planner._begun",
        "machines.begin(self.machine, operation.id, run)",
        "pass",
        (
            f"{_API}.operations.plan:Planner._begun",
            "return after if self.operations.change(after) else",
            "changed = self.operations.change(after)\n"
            "    machines.begin(self.machine, operation.id, run)\n"
            "    return after if changed else",
        ),
        mix="operated",
    ),
    _bug(
        "an overtaken run of an operation ends although it is the newest",
        f"{_OPERATE}.carry_out:Conductor._after_overtaking",
        "return _AGAIN_SECONDS",
        "return None",
        mix="operated",
    ),
    _bug(
        "an operation deletes letters that are needed",
        "postdate.domain.letters:_is_over",
        "return item.version != due.version if waits_for_redrive else True",
        "return True",
        mix="operated",
    ),
    _bug(
        "an operation deletes a letter when one of its items went on",
        "postdate.domain.letters:used_up",
        "all(told)",
        "any(told)",
        mix="operated",
    ),
    # The recorder, and a follower of the feed.
    _bug(
        "an event that has a row counts as listed",
        f"{_RECORD}:Recorder._record",
        "entries = [entry for entry in entries if entry not in listed]",
        "entries = [Entry.of(event) for event in events if event.id not in there]",
        mix="followed",
    ),
    _bug(
        "an event that has a row is listed again",
        f"{_RECORD}:Recorder._record",
        "if there:",
        "if False:",
        mix="followed",
    ),
    _bug(
        "an event is looked for behind the newest page",
        f"{_RECORD}:Recorder._record",
        "min(there.values())",
        "max([end.number if end else 0, *there.values()])",
        mix="followed",
    ),
    _bug(
        "entries are lost when another recorder writes the page first",
        f"{_RECORD}:Recorder._append",
        "if self._events.append(page):",
        "if self._events.append(page) or True:",
        mix="followed",
    ),
    _bug(
        "a page of a feed leaves a number out",
        f"{_RECORD}:Recorder._append",
        "number=end.number + 1 if end else 1",
        "number=end.number + 2 if end else 1",
        mix="followed",
    ),
    _bug(
        "changes that are not written count as recorded",
        f"{_RECORD}:Recorder.record",
        "found.failed |= {number for _, number in pairs}",
        "pass",
        mix="followed",
    ),
    _bug(
        "a follower goes on behind the page that it has not finished",
        f"{_API}.events.feed:_Reading._places",
        "place > at",
        "place[0] > at[0]",
        mix="followed",
    ),
    _bug(
        "a version of a task is no event",
        "postdate.domain.task_event:task_event",
        "sequence=after.version",
        "sequence=max(1, after.version - 1)",
        mix="followed",
    ),
)


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    kept = [(function, function.__code__) for function, _ in _changes(bug)]
    try:
        for function, code in _changes(bug):
            function.__code__ = code
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


def prepared() -> None:
    """All mistakes are read from the code as it is now, and each of them applies."""
    for bug in BUGS:
        _changes(bug)


def page(found: Sequence[Found]) -> str:
    """docs/planted.md"""
    lines = [
        "# Planted mistakes",
        "",
        "Written by `postdate-sim --planted N --write`; `make prove` plants all of them. Each mistake is put into the",
        "code in memory, and the run of its seed must break an invariant. If that run holds, as after a change of the",
        "code, the seeds from 0 to N run until one breaks. The checkers of the invariants are in",
        "`tests/simulation/checkers.py`.",
        "",
        f"{len(found)} mistakes, {sum(each.broken is None for each in found)} missed.",
        "",
        "| mistake | runs | seed | caught by |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {each.bug.name} | {each.mix} | {each.seed} | {each.check or '**nothing**'} |" for each in found
    ]
    return "\n".join(lines) + "\n"


def seeds_in(page: str) -> dict[str, int]:
    """The seed of each mistake that the page tells."""
    rows = (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| "))
    return {name: int(seed) for name, _, seed, _ in rows if seed.isdigit()}


@cache
def _changes(bug: Bug) -> list[tuple[Any, Any]]:
    return [
        (_function(place), _changed(_function(place), [each for each in bug.patches if each.place == place]))
        for place in dict.fromkeys(patch.place for patch in bug.patches)
    ]


def _function(place: str) -> Any:
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = inspect.getattr_static(found, name)
    return getattr(found, "__func__", found)


def _changed(function: Any, patches: Sequence[Patch]) -> Any:
    """The code as planted; the function stays the same object for all who know it."""
    source = textwrap.dedent(inspect.getsource(function))
    for patch in patches:
        if source.count(patch.old) != 1:
            raise LookupError(f"{patch.place}: {patch.old!r} stands there {source.count(patch.old)} times")
        source = source.replace(patch.old, patch.new)
    made: dict[str, Any] = {}
    exec(compile(source, f"<{patches[0].place}>", "exec"), function.__globals__, made)  # noqa: S102
    changed = made[function.__name__]
    return getattr(changed, "__func__", changed).__code__
