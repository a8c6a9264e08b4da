"""What each field, parameter and header means. One name, one meaning."""

from typing import Final

from functions.api import patterns
from functions.api.listing import LIMIT_DEFAULT, LIMIT_MAX
from functions.api.payments.listing import ORDERS
from functions.api.reference.shapes import INSTANT, TEXT, Schema, one_of
from functions.api.tasks.listing import STATUSES
from postdate.domain import account, payment, task
from postdate.targets.registry import KINDS

MEANINGS: Final = {
    "run_at": "The instant it is due: at most a year ahead, at most a minute ago, which means now.",
    "delay_seconds": "Instead of naming an instant: how long from now it is due.",
    "cron": "Instead of naming an instant: minute, hour, day of month, month and day of week, or a name such as "
    "`@daily`.",
    "timezone": "Whose clocks the cron is read on, by the name that IANA gives it.",
    "start_at": "No run is planned before it.",
    "end_at": "No run is planned after it.",
    "max_runs": "How many runs begin at most.",
    "jitter_seconds": "By how much each run is due later at most, the same each time: so that not all begin at once. "
    "Less than what lies between two runs.",
    "overlap": "What a run does while the one before it is not over: it is skipped, begins all the same, or waits. Ten "
    "may wait; further ones are skipped.",
    "catch_up": "Which of the runs that were missed are made up for: the latest, all, none. A minute late is not "
    "missed.",
    "catch_up_window_seconds": "How long ago they may have been due to be made up for.",
    "ack": "What ends a run: the answer to its delivery, or the receiver's own word, `explicit`.",
    "expires_after_seconds": "How long after it was due an attempt may still begin.",
    "flow_control": "What holds it back together with everything else of yours under the same key. Who has to wait is "
    "called later, and that uses up no attempt. A task for which the key has no place within 60 days is refused, or "
    "ends as EXPIRED when that shows later.",
    "key": "A name of yours.",
    "rate": "How many begin in a period at most, evenly spaced.",
    "period_seconds": "How long a period is.",
    "parallelism": "How many are on at once at most.",
    "from": "From which instant, included.",
    "to": "To which instant, included: not in the future.",
    "count": "How many.",
    "task_id": "Instead of a cron: that of a task, with its jitter.",
    "payload_ref": "Instead of a payload: where it lies, an object inside your tenant's prefix of the payloads' "
    "bucket, `s3://<bucket>/<tenant>/<name>`; JSON of up to 256 KB. It is read at each attempt, as it is then.",
    "token": "The token that the delivery carried, `Postdate-Token`, as number or as text.",
    "error": "Why, for whoever looks at the run.",
    "final": "Whether no other attempt may follow.",
    "extend_seconds": "How long from now it may take; as long as its timeout if it is left out, and at most that.",
    "target": "Where it goes.",
    "payload": "Any JSON, up to 256 KB as compact JSON text. It is the body that the target gets, or part of an event.",
    "retry": "What follows a failed attempt. Without it 30 attempts span more than a day: quick at first, then hours "
    "apart.",
    "timeout_seconds": "How long one attempt to a webhook may take, at most 60; or, with an explicit acknowledgement, "
    "how long the receiver may be silent, up to 900.",
    "name": "A name of yours. It need not be unique; lists can be filtered by it.",
    "tags": "Words of yours; lists can be filtered by one of them.",
    "idempotency_key": "As the header Idempotency-Key, for this one alone.",
    "tasks": "Each is checked by itself.",
    "payments": "Each is checked by itself.",
    "accounts": "Each is checked by itself.",
    "reference": "What it is called elsewhere, such as at a bank.",
    "from_account_id": "The account that pays.",
    "to_account_id": "The account that is paid; not the one that pays.",
    "account_id": "A name of yours.",
    "amount": "Whole units. For a payment at most 1,000,000, unless the account that pays has limits of its own.",
    "scheduled_time": "The instant at which it is made: in the future, at most a year ahead.",
    "description": "A text of yours.",
    "funding": "Whether the amount is held from now on, or the balance decides at the instant.",
    "metadata": "Up to 20 pairs of yours; names of 1 to 40 characters, values of up to 500. A change replaces "
    "all of them.",
    "limits": "What one payment from the account may be. A limit that is left out is the default of a new account, and "
    "no change of an older one.",
    "amount_min": "The least amount.",
    "amount_max": "The greatest amount: by default 1,000,000, and at most what the environment allows.",
    "delay_seconds_min": "The shortest time from scheduling to the instant.",
    "delay_seconds_max": "The longest time from scheduling to the instant.",
    "reason": "Why, for whoever asks later.",
    "to_journal": "Instead of an amount: what the journal and the open payments say is right.",
    "execution_id": "A name of yours for this execution: 1 to 128 visible ASCII characters.",
    "type": "The kind of target.",
    **{member.name: member.meaning for kind in KINDS.values() for member in kind.members},
    "max_attempts": "How often it is tried at most, the first attempt included.",
    "initial_seconds": "The shortest wait before another attempt.",
    "multiplier": "By what the wait may grow from attempt to attempt.",
    "max_seconds": "The longest wait before another attempt, and the most that a `Retry-After` is obeyed.",
    "jitter": "Whether the wait is drawn between the shortest and the longest, so that what failed together "
    "does not return together.",
}


def _header(name: str, text: str, schema: Schema, *, required: bool = False) -> Schema:
    return {"name": name, "in": "header", "description": text, "schema": schema, "required": required}


def _path(name: str, text: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "description": text, "schema": TEXT}


def _query(name: str, text: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "description": text, "schema": schema}


_KEY: Final[Schema] = {"type": "string", "pattern": patterns.IDEMPOTENCY_KEY}

PARAMETERS: Final[dict[str, Schema]] = {
    "task_id": _path("task_id", "The id of a task."),
    "payment_id": _path("payment_id", "The id of a payment."),
    "account_id": _path("account_id", "The id of an account."),
    "account_filter": _query("account_id", "Only payments from and to this account.", TEXT),
    "account_status": _query("status", "Only accounts with this status.", one_of(account.Status)),
    "prefix": _query("prefix", "Only accounts whose ids begin like this.", TEXT),
    "payment_status": _query("status", "Only payments in this state.", one_of(payment.State)),
    "from": _query("from", "Only payments that are scheduled for this instant or later.", INSTANT),
    "before": _query("until", "Only payments that are scheduled for an instant before this one.", INSTANT),
    "since": _query("since", "Only what was written at this instant or later.", INSTANT),
    "order": _query(
        "order",
        "`desc` begins with the latest instant.",
        {"type": "string", "enum": list(ORDERS), "default": ORDERS[0]},
    ),
    "until": _query("until", "Up to which instant; 30 days ahead if it is left out.", INSTANT),
    "status": _query("status", "Only tasks in this state.", {"type": "string", "enum": list(STATUSES)}),
    "run_status": _query("status", "Only runs in this state.", one_of(task.State)),
    "run_id": _path("run_id", "The id of a run."),
    "operation_id": _path("operation_id", "The id of an operation."),
    "job_id": _path("job_id", "The id of a job."),
    "name": _query("name", "Only tasks of this name.", TEXT),
    "tag": _query("tag", "Only tasks with this tag.", TEXT),
    "audit_after": _query("after", "`goes_on_after` of the audit before.", TEXT),
    "limit": _query(
        "limit",
        "How many at most.",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    ),
    "cursor": _query(
        "cursor", "`next_cursor` of the page before, for the same filters and the same tenant.", TEXT
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "1 to 255 visible ASCII characters. It stands for the task for 30 days.",
        _KEY,
    ),
    "IdempotencyKeyNeeded": _header(
        "Idempotency-Key", "1 to 255 visible ASCII characters. It is kept for ever.", _KEY, required=True
    ),
    "IfMatch": _header(
        "If-Match",
        "The version that the decision was made on, such as an ETag. Another version is refused.",
        {"type": "string", "pattern": '^(\\*|"?[0-9]{1,9}"?)$'},
    ),
}
HEADERS: Final[dict[str, Schema]] = {
    "Location": {"description": "The path of what was made.", "schema": TEXT},
    "ETag": {"description": "The version, in quotes.", "schema": TEXT},
    "Idempotent-Replayed": {
        "description": "Present when an earlier request did what this one asks for.",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": TEXT},
    "RateLimit-Policy": {"description": "The quota and its window in seconds.", "schema": TEXT},
    "RateLimit": {
        "description": "What is left of it, and after how many seconds there is more.",
        "schema": TEXT,
    },
    "WWW-Authenticate": {"description": "The scheme: Bearer.", "schema": TEXT},
}
ERROR_HEADERS: Final = {
    "Retry-After": frozenset({"idempotency_in_progress", "unavailable"}),
    "WWW-Authenticate": frozenset({"unauthenticated"}),
}
