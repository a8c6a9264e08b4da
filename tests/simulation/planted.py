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
_RESTATE: Final = "functions.api.accounts.restate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """`place` is `module:name.of.function`; `old` stands in it exactly once."""

    place: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Bug:
    """`mix` names one of the sorts of runs."""

    name: str
    patches: tuple[Patch, ...]
    mix: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """After how many seeds of which sort, and which invariant did not hold; None if all did."""

    bug: Bug
    mix: str
    seeds: int
    broken: str | None

    @property
    def check(self) -> str:
        return check_of(self.broken or "")


def _bug(
    name: str, place: str, old: str, new: str, *more: tuple[str, str, str], mix: str | None = None
) -> Bug:
    patches = (Patch(place=place, old=old, new=new), *(Patch(place=p, old=o, new=n) for p, o, n in more))
    return Bug(name=name, patches=patches, mix=mix)


BUGS: Final = (
    # Tasks: lease, fence, attempts.
    _bug("a claim does not raise the token", f"{_TRANSITIONS}:_start", "task.token + 1", "task.token"),
    _bug("nobody waits for a lease to end", f"{_TRANSITIONS}:claim", "now < task.lease_until", "False"),
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
        "any call brings back the dead",
        f"{_TRANSITIONS}:claim",
        "State.DEAD if due.version == task.version:",
        "State.DEAD:",
        mix="deadly",
    ),
    _bug(
        "what is brought back is seen by no audit",
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
        "a missing letter is not sent again",
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
        "an outcome is written over whoever has the task (no fence)",
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
        "a lease is made longer by whoever had it once (no token check)",
        f"{_TASKS}:DynamoTasks._extension",
        ' AND "status"=? AND "token"=? AND "holder"=?',
        "",
        (
            f"{_TASKS}:DynamoTasks._extension",
            '{"S": State.RUNNING.value},\n        {"N": str(task.token)},\n        {"S": task.holder or ""},',
            "",
        ),
    ),
    _bug(
        "whatever is stored is our own",
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
        "a row that exists is known by one of AWS's words alone",
        f"{_STATEMENTS}:_code",
        'if code == "ValidationError"',
        "if False",
        mix="deployed",
    ),
    _bug(
        "a row that was left unread is not there",
        f"{_BATCH_GET}:_read_until",
        "if not left:",
        "if True:",
        mix="deaf",
    ),
    _bug(
        "rows that are left unread are asked for without an end",
        f"{_BATCH_GET}:_read_until",
        "if fruitless == _FRUITLESS_MAX or time.monotonic() + pause > deadline:",
        "if False:",
        mix="deaf",
    ),
    # Tasks: what follows from an attempt.
    _bug(
        "attempts begin whose claim was lost",
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
        "a retry that is written late is left to a sweep that was there before",
        f"{_RECORDING}:Recording._is_left_to_a_sweep",
        "return change.points and not is_open",
        "return change.points",
        mix="cut off",
    ),
    _bug(
        "the dead get no letter", f"{_RECORDING}:Recording.record", "outbox.bury(task, call.message)", "pass"
    ),
    _bug(
        "a message goes although its retry could not be sent",
        f"{_RUN}:Runner.run",
        "batch.tally.failed_messages |= batch.outbox.failed_messages",
        "pass",
        mix="deaf",
    ),
    _bug(
        "a message goes although its batch broke off",
        f"{_RUN}:Runner._calls",
        "batch.fail(calls)",
        "pass",
        mix="deaf",
    ),
    _bug(
        "a deferred call is forgotten",
        f"{_BATCH}:Batch.defer",
        "self.outbox.defer(Due.of(task), call.message, not_before=not_before)",
        "pass",
    ),
    _bug(
        "an attempt goes under a key of its own",
        "functions.run_tasks.deliveries:Deliveries._delivery",
        "run_id=task.id",
        'run_id=f"{task.id}-{task.attempts}"',
    ),
    _bug(
        "the attempt's number is taken for the token",
        "functions.run_tasks.deliveries:Deliveries._delivery",
        "token=task.token",
        "token=task.attempts",
    ),
    # The sweep.
    _bug(
        "there is no closing pass",
        "postdate.domain.sweeping:wants_call",
        "return stage is Stage.OPEN or moved_at >= opened_at - margin",
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
        "return overdue and not held",
        "return False and not held",
    ),
    _bug(
        "the watermark rises over what is not done",
        f"{_SWEEP}.tick:Ticker._raise_watermark",
        "done = list(takewhile(audited, minutes))",
        "done = list(minutes)",
    ),
    _bug(
        "a sweeper raises a watermark that was put back",
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
        "packets that the queue refused are forgotten",
        "postdate.runtime.queue:SqsQueue._send_chunk",
        'failure["Id"] for failure in response.get("Failed", ())',
        'failure["Id"] for failure in ()',
        mix="deaf",
    ),
    _bug(
        "sending fails in silence",
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
        "a retry answers with its own instant whatever is written",
        f"{_API}.idempotency:as_written",
        "held.of(created_at)",
        "held",
        (f"{_API}.idempotency:stands_for", "now < _minute_ends(found) or written(found.item_id)", "False"),
        mix="impatient",
    ),
    _bug(
        "who registers late sends no call",
        f"{_API}.tasks.register:Registrar.register",
        "calls.send(called, queue=self.queue, horizon=self.horizon, now=self.clock.now())",
        "pass",
        mix="quiet",
    ),
    _bug(
        "who pays late sends no call",
        f"{_API}.payments.register:Registrar._write",
        "calls.send([*waiting, *written], queue=self.queue, horizon=self.horizon, now=self.clock.now())",
        "pass",
        mix="quiet",
    ),
    _bug(
        "a change counts although somebody was faster",
        f"{_API}.tasks.change:Changer._changed",
        "written is Written.DONE",
        "written is not Written.UNAVAILABLE",
        mix="contested",
    ),
    _bug(
        "If-Match is not looked at",
        f"{_API}.payments.change:Changer._changed",
        "version != payment.version",
        "False",
        mix="moved",
    ),
    _bug(
        "a tenant reaches another's tasks",
        f"{_API}.tasks.change:Changer.load",
        "task is None or task.tenant != tenant",
        "task is None",
    ),
    _bug(
        "a tenant reaches another's payments",
        f"{_API}.payments.change:Changer.load",
        "payment is None or tenant not in (None, payment.tenant)",
        "payment is None",
    ),
    _bug(
        "a deposit asked for again is another deposit",
        f"{_API}.accounts.deposit:Cashier.move",
        "posting = _posting(tenant, order, held, now=now)",
        "posting = _posting(tenant, order, wanted, now=now)",
        mix="frozen",
    ),
    # Money.
    _bug(
        "a payment changes whatever its version (no condition on its state)",
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
        "money that a transaction brings pays for what it takes",
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
        "incoming payments go first, whatever their instants",
        "postdate.domain.posting:_arranged",
        "if _goes_both_ways(group):",
        "if False:",
        mix="mutual",
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
        "an account is closed whatever is available",
        f"{_ACCOUNT}:closing_of",
        '"#available = :none"',
        '":none = :none"',
        mix="closing",
    ),
    _bug(
        "an account is closed whatever is reserved",
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
        "a closed account takes what is counted in by hand",
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
        "a settlement takes from what is available and leaves the hold",
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
        "whatever stands in a posting's way is its own",
        "postdate.stores.ledger_answers:judged",
        'held and _is_same(reason.get("Item"), action.row)',
        "held",
        mix="frozen",
    ),
    _bug(
        "a posting that nobody answered counts as done",
        f"{_LEDGER}:DynamoLedger._write",
        "_each(left, Answer.UNAVAILABLE)",
        "_each(left, Answer.DONE)",
        mix="deaf",
    ),
    _bug(
        "who could not settle sends no other try",
        f"{_SETTLE}:Runner._send_on",
        "self._outbox.retry(payment, call.message)",
        "pass",
        mix="frozen",
    ),
    _bug(
        "who gives up sends no letter",
        f"{_SETTLE}:Runner._send_on",
        "self._outbox.bury(payment, call.message)",
        "pass",
        mix="frozen",
    ),
    _bug(
        "a payment's message goes although nothing could be read",
        f"{_SETTLE}:Runner._read",
        "self._fail(calls)",
        "pass",
        mix="deaf",
    ),
    _bug(
        "a deferred payment is forgotten",
        f"{_SETTLE}:Runner._is_to_settle",
        "self._outbox.defer(Due.of(payment), call.message, not_before=None)",
        "pass",
        mix="moved",
    ),
    # Setting right.
    _bug(
        "an account that changed just now is set to what indexes show",
        f"{_RESTATE}:Restater._difference",
        "_refuse_if_changed(books.account, since=began - QUIET)",
        "pass",
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
        "an account is set right whatever its version",
        f"{_RESTATE}:_missing",
        "at_version=account.version,",
        "",
        (
            f"{_RESTATE}:Restater._difference",
            "_missing(self._books(tenant, name)) != first",
            "False",
        ),
        (
            f"{_RESTATE}:Restater._difference",
            "_refuse_if_changed(books.account, since=began - QUIET)",
            "pass",
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
        "a run that is caught up is seen by no audit",
        f"{_TASKS}:DynamoTasks.add",
        "task.moved_at if task.is_written_late else None",
        "None",
        mix="overslept",
    ),
    _bug(
        "who comes late tells nobody what was missed",
        f"{_FOLLOWING}:_at_its_instant",
        "rows.append(row)",
        "rows += [] if each.state is State.MISSED else [row]",
        mix="timely",
    ),
    _bug(
        "overlap is not looked at",
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
        "a pause forgets the runs that are on",
        "postdate.domain.definition:_moved",
        '"before": reached.not_over',
        '"before": () if to is State.PAUSED else reached.not_over',
        (
            f"{_API}.tasks.chain:Chain.reached",
            "if leader is None or",
            "if definition.reason or leader is None or",
        ),
        mix="timely",
    ),
    _bug(
        "a new plan does not know how many runs there were",
        f"{_API}.tasks.chain:Chain.reached",
        "runs = max(definition.runs_before, runs)",
        "runs = definition.runs_before",
        mix="timely",
    ),
    _bug(
        "the newest ten rows tell how many runs there were",
        f"{_API}.tasks.chain:Chain._leader",
        "return self._newest_of(definition, near) or next(",
        "return next((run for run in self.newest(definition) if _is_of(run, definition)"
        " and run.recurs and run.recurs.number), None) if near else next(",
        mix="timely",
    ),
    _bug(
        "the run to come may begin while its plan is changed",
        f"{_API}.tasks.definitions:DefinitionChanger._changed",
        "None if coming is None else end(coming)",
        "None",
        (f"{_BEFORE}:_ended_first", "lines[run.id].to_end if plan and is_current(run, plan) else ()", "()"),
        mix="timely",
    ),
    _bug(
        "nobody looks past a run that never began",
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
        "all that wait ask",
        f"{_FOLLOWING}:_again",
        "QUEUE_REST if turn.line.rests else QUEUE_POLL",
        "QUEUE_POLL",
        mix="queued",
    ),
    _bug(
        "nobody wakes the next run of a queue",
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
            f"{_API}.tasks.definitions:DefinitionChanger._changed",
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
        (f"{_API}.tasks.chain:Chain._end", "self.tasks.commit(changes)", "None"),
        mix="timely",
    ),
    _bug(
        "runs of an older plan begin",
        f"{_FOLLOWING}:_void",
        "definition.plan != recurs.plan",
        "False",
        (
            f"{_API}.tasks.definitions:DefinitionChanger._changed",
            "None if coming is None else end(coming)",
            "None",
        ),
        mix="timely",
    ),
    _bug(
        "max_runs is not looked at",
        f"{_FOLLOWING}:_at_its_instant",
        "(most is not None and made >= most)",
        "False",
        (f"{_FOLLOWING}:follow", "number > most", "False"),
        mix="timely",
    ),
    _bug(
        "a task is written before its first run",
        f"{_API}.tasks.recurring:Planner._planned",
        "first = self.chain.begin(stored, now=now)",
        "self.definitions.add(stored); first = self.chain.begin(stored, now=now)",
        mix="timely",
    ),
    _bug(
        "whoever triggers again has another run",
        f"{_API}.tasks.by_hand:ByHand.trigger",
        "replace(self._run_now(definition, held.due_at, depth), id=held.item_id)",
        "self._run_now(definition, held.due_at, depth)",
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
        "who needs a place takes none",
        f"{_GATE}:Gate._has_place",
        "return task.state.waits and rules.holds(",
        "return True or rules.holds(",
        mix="crowded",
    ),
    _bug(
        "places are given away once more",
        f"{_FLOW}:DynamoFlow._taken",
        '"attribute_not_exists(#ends) OR #ends < :now"',
        '"attribute_not_exists(#ends) OR #ends < :now OR attribute_exists(#ends)"',
        mix="crowded",
    ),
    _bug(
        "places are given away however far they lie",
        f"{_GATE}:Gate._taken",
        "now=now, latest=latest - _MOMENT)",
        "now=now, latest=latest + timedelta(days=365))",
        mix="backlogged",
    ),
    _bug(
        "what waits has no end",
        f"{_TRANSITIONS}:too_late",
        "if instant >= task.ends_at else None",
        "if False else None",
        mix="backlogged",
    ),
    _bug(
        "a room is never full",
        "postdate.domain.flow:enter",
        "len(inside) < parallelism",
        "True",
        mix="crowded",
    ),
    _bug(
        "a room is entered whoever else came in",
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
        "a postponed call is forgotten",
        f"{_RECORDING}:Recording.record",
        "outbox.postpone(task, call.message)",
        "pass",
        mix="crowded",
    ),
    _bug(
        "what its receiver has is out of its room",
        f"{_GATE}:Gate.left",
        "if each.after.state is State.RUNNING",
        "if False",
        (f"{_GATE}:Gate.left", "if each.after.state is not State.RUNNING", "if True"),
        mix="acknowledged in a room",
    ),
    # Breakers.
    _bug(
        "an attempt counts under which nothing was sent",
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
        "a breaker is told of what was not sent",
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
        "what is left alone is called all the same",
        f"{_GATE}:Gate._past_breakers",
        "known[way].state(now)",
        "Circuit.CLOSED",
        (
            "functions.run_tasks.circuits:Circuits.probe",
            "return before.state(now) is State.CLOSED",
            "return True",
        ),
        mix="broken down",
    ),
    _bug(
        "what was held begins all at once",
        f"{_GATE}:Gate._past_breakers",
        "yield from self._in_turn(way, some, now)",
        "pass",
        mix="restored",
    ),
    _bug(
        "starts are given away twice",
        f"{_FLOW}:DynamoFlow._taken",
        "#ends = #ends + :wide",
        "#ends = :end",
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
        "a worker that is kept takes nothing",
        f"{_INTAKE}:Intake.asks_at",
        "if self.asks or",
        "if True or",
        mix="kept",
    ),
    _bug(
        "what a worker took is deleted before it is dealt with",
        f"{_INTAKE}:Intake.let_go",
        "self._open.keys() - set(unfinished)",
        "list(self._open)",
        mix="kept and crashing",
    ),
    _bug(
        "what a worker took and could not finish is deleted",
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
        "a call that is moved is forgotten",
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
        f"{_TASKS}:DynamoTasks.listed",
        "self._listed(tenant,",
        'self._listed("zeta",',
    ),
    _bug(
        "a task is listed as another tenant's",
        "postdate.stores.task_row:attributes_of",
        "listing_key(_listed_under(task),",
        'listing_key("zeta",',
    ),
    _bug(
        "a worker looks at another tenant than the task's",
        "functions.run_tasks.deliveries:Deliveries.prefetch",
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
        "a message with a field that nobody knew is refused",
        "postdate.runtime.queue:received",
        'if body["form"] != _FORM or',
        'if body["form"] != _FORM or body.keys() - {"form", "tenant", "via", "dues", "seen"} or',
    ),
    _bug(
        "a row that only newer code can read stops those beside it",
        f"{_ROWS}:readable",
        "except Exception as error:",
        "except KeyError as error:",
        mix="deployed",
    ),
    _bug(
        "a task that only newer code can read counts as gone",
        f"{_CHAIN}:Chain.follow",
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
        "what newer code has added hides one's own change",
        f"{_STATEMENTS}:_is_made",
        "and all(",
        "and 'later' not in stored and all(",
        mix="deployed",
    ),
    _bug(
        "a message that nobody can read is dropped",
        "postdate.runtime.records:read",
        'unreadable.append(record["messageId"])',
        "pass",
    ),
    _bug(
        "a message that nobody can read stops those beside it",
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
        "a delivery ends a run that its receiver has to end",
        f"{_DELIVERING}:outcome",
        "task.ack is Ack.EXPLICIT",
        "False",
        mix="acknowledged",
    ),
    _bug(
        "nobody comes when a receiver is silent",
        f"{_RECORDING}:Recording.record",
        "outbox.defer(Due.of(task), call.message, not_before=task.lease_until)",
        "pass",
        mix="acknowledged",
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
        "Written by `postdate-sim --planted N --write`; `make prove` runs all of them. Each is put into the code in",
        "memory, and seeds are run until an invariant does not hold. The checkers of the invariants are listed in",
        "`tests/simulation/checkers.py`.",
        "",
        f"{len(found)} mistakes, {sum(each.broken is None for each in found)} missed.",
        "",
        "| mistake | runs | seeds | caught by |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {each.bug.name} | {each.mix} | {each.seeds} | {each.check or '**nothing**'} |" for each in found
    ]
    return "\n".join(lines) + "\n"


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
