"""The meaning of each field, parameter and header. One name, one meaning."""

from typing import Final

from functions.api import patterns
from functions.api.events.query import WAIT_SECONDS_MAX
from functions.api.listing import LIMIT_DEFAULT, LIMIT_MAX, ORDERS
from functions.api.reference.shapes import INSTANT, TEXT, Schema, enum_of
from functions.api.tasks.listing import STATUSES
from postdate.domain import account, payment, task
from postdate.targets.registry import KINDS

MEANINGS: Final = {
    "run_at": "The instant of the task: at most a year ahead. An instant up to a minute ago means now.",
    "delay_seconds": "The time from now to the instant, in place of an instant.",
    "cron": "Minute, hour, day of month, month and day of week, or a name such as `@daily`, in place of an "
    "instant.",
    "timezone": "The time zone of the cron, by its IANA name.",
    "start_at": "No run is planned before this instant.",
    "end_at": "No run is planned after this instant.",
    "max_runs": "The greatest number of runs.",
    "jitter_seconds": "The greatest delay of a run behind its planned instant. Each run has a fixed delay, so that "
    "not all "
    "tasks begin at once. The value is less than the time between two runs.",
    "spread_seconds": "The span in which tasks that name the same instant start: each at an instant of its own, less "
    "than this many seconds later. With an idempotency key the instant follows from the key. The answer's `run_at` "
    "tells it. Without a value the tenant's default counts; 0 is the instant itself.",
    "overlap": "The rule for a run whose predecessor is not over: `skip` does not run it, `allow` runs it, `queue` "
    "lets it wait. Ten runs may wait; further runs are skipped.",
    "catch_up": "The policy for missed runs: run the latest, all, or none. A run that is late by a minute is not "
    "missed.",
    "catch_up_window_seconds": "The greatest lateness of a missed run that is caught up.",
    "ack": "The event that ends a run: the answer to the delivery (`response`), or a request of the receiver "
    "(`explicit`).",
    "expires_after_seconds": "The time from the instant to the deadline. No attempt begins after the deadline.",
    "flow_control": "Limits for all tasks of the tenant with the same key. A task over a limit is called later; the "
    "wait "
    "uses up no attempt. A task whose key has no place within 60 days is refused, or ends as EXPIRED.",
    "key": "The name of the flow key, chosen by the client.",
    "rate": "The greatest number of runs that begin in a period, evenly spaced.",
    "period_seconds": "The length of a period.",
    "parallelism": "The greatest number of runs in progress at once.",
    "from": "The first instant, included.",
    "to": "The last instant, included. It is not in the future.",
    "count": "The number of instants.",
    "task_id": "The id of a recurring task, in place of a cron. The preview shows its jitter.",
    "payload_ref": "The address of the payload, in place of a payload: an object inside the tenant's prefix of the "
    "payload bucket, `s3://<bucket>/<tenant>/<name>`, with JSON of up to 256 KB. Each attempt reads the "
    "current object.",
    "token": "The token of the delivery, `Postdate-Token`, as a number or a text.",
    "error": "The reason for the failure.",
    "final": "True if no other attempt may follow.",
    "extend_seconds": "The time from now to the end of the new lease: at most the timeout, which is the default.",
    "target": "The destination of the calls.",
    "payload": "Any JSON, up to 256 KB as compact JSON text. It is the body of the call, or part of an event.",
    "retry": "The policy after a failed attempt. The default allows 30 attempts over more than a day: first "
    "seconds apart, later hours.",
    "timeout_seconds": "The longest time of one attempt to a webhook, at most 60. With an explicit acknowledgement: "
    "the "
    "longest silence of the receiver, at most 900.",
    "action": "The action on each item.",
    "kind": "The kind of the items.",
    "ids": "The ids of the items.",
    "filter": "The properties of the wanted items, or of the wanted events. Items without a status in the filter: "
    "those in the state in which the action finds any.",
    "types": "Types of events: `payment.completed`, all of a kind such as `payment.*`, or `*` for all.",
    "since": "Events that were recorded at this instant or later.",
    "only_failed": "True to try dead deliveries again, and to make no others.",
    "ordered": "True to send the deliveries of one subject in the order of its events: each one waits until the one "
    "before it has ended. False to send each at once.",
    "status": "The state of the items.",
    "tag": "One of the tags of the items, or of the events' subjects.",
    "destination": "The beginning of the address of the items' destination.",
    "failure": "The error of the items without ids and long numbers, as a plan or a list of dead letters tells it.",
    "until": "The instant that ends the span: items due before it, or events recorded before it.",
    "dry_run": "True if the operation is only planned and waits for its start.",
    "max_per_second": "The number of items that it acts on in a second at most.",
    "subject_ids": "The accounts and tasks whose proposals are approved; without it, all.",
    "tenant": "The owner of the accounts and tasks; without it, all tenants.",
    "canary": "The number of items that go first. The others follow when each of these has ended well.",
    "stop_when": "Stops the operation when too many of the newest attempts failed.",
    "failed_share": "The share of failed attempts among those that have ended. Ten of them at least count.",
    "within": "Seconds. Older attempts do not count.",
    "name": "A name chosen by the client. Names may repeat. Lists can be filtered by name.",
    "tags": "Words chosen by the client. Lists can be filtered by one tag.",
    "idempotency_key": "The same as the header Idempotency-Key, for this item alone.",
    "tasks": "Each task is checked by itself.",
    "payments": "Each payment is checked by itself.",
    "accounts": "Each account is checked by itself.",
    "reference": "The id of the deposit in another system, such as a bank.",
    "from_account_id": "The account that pays.",
    "to_account_id": "The account that is paid. It differs from the account that pays.",
    "account_id": "The id of the account, chosen by the client.",
    "amount": "Whole units. For a payment at most 1,000,000, unless the account that pays has limits of its own.",
    "scheduled_time": "The instant of the payment: in the future, at most a year ahead.",
    "description": "A text for people.",
    "funding": "`reserve` holds the amount from now on. With `at_execution` the balance at the instant decides.",
    "metadata": "Up to 20 pairs; names of 1 to 40 characters, values of up to 500. A change replaces all pairs.",
    "limits": "Bounds of one payment from the account. A bound that is left out has its default for a new account, "
    "and stays unchanged for an existing one.",
    "amount_min": "The least amount.",
    "amount_max": "The greatest amount: by default 1,000,000, and at most what the environment allows.",
    "delay_seconds_min": "The shortest time from scheduling to the instant.",
    "delay_seconds_max": "The longest time from scheduling to the instant.",
    "reason": "A reason for people who read the history.",
    "to_journal": "True to set the balances from the journal and the open payments, in place of an amount.",
    "scopes": "What the key may do. Each operation of this description names the scope that it needs.",
    "account_ids": "The accounts that the key pays from and administers; without it all of the tenant.",
    "amount_per_day_max": "The greatest sum of the payments that the key schedules on a UTC day.",
    "networks": "CIDR blocks that requests with the key may come from.",
    "actions": "The only operations that the key may ask for, by their `operationId`; without it all of its scopes.",
    "read_only": "True for a key that may ask for nothing that writes, whatever its scopes say.",
    "requests_per_second": "Requests of the key; up to ten seconds of them may come at once.",
    "expires_at": "The instant from which the key is refused.",
    "tenant_id": "The name of the tenant: lower-case letters, digits and hyphens.",
    "tier": "The quotas that the tenant has unless `quotas` says otherwise.",
    "quotas": "Quotas of the tenant's own.",
    "runs_in_flight": "Deliveries of the tenant in flight at all workers together; null for the usual number.",
    "registered_per_second": "Tasks and payments that the tenant may register a second; null for the tier's number.",
    "queues": "URLs of the SQS queues that its tasks may go to.",
    "topics": "ARNs of the SNS topics that its tasks may go to.",
    "buses": "Names of the EventBridge buses that its tasks may go to.",
    "default_target": "The target of jobs that name none.",
    "pending": "What becomes of items that are due: `run` lets them run, `wait` keeps them until it is resumed.",
    "confirm": "The id of the tenant once more.",
    "overlap_seconds": "How long the previous secret still works.",
    "execution_id": "An id for this execution, chosen by the client: 1 to 128 visible ASCII characters.",
    "type": "The kind of target.",
    **{member.name: member.meaning for kind in KINDS.values() for member in kind.members},
    "max_attempts": "The greatest number of attempts, the first one included.",
    "initial_seconds": "The shortest wait before another attempt.",
    "multiplier": "The factor by which the wait may grow after each attempt.",
    "max_seconds": "The longest wait before another attempt, also after a `Retry-After`.",
    "jitter": "True to draw each wait at random between the shortest and the longest, so that calls that failed "
    "together do not return together.",
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
    "account_status": _query("status", "Only accounts with this status.", enum_of(account.Status)),
    "prefix": _query("prefix", "Only accounts whose ids begin with this text.", TEXT),
    "payment_status": _query("status", "Only payments in this state.", enum_of(payment.State)),
    "from": _query("from", "Only items whose scheduled instant is this one or later.", INSTANT),
    "before": _query("until", "Only items whose scheduled instant is before this one.", INSTANT),
    "since": _query("since", "Only what was written at this instant or later.", INSTANT),
    "event_type": _query("type", "Only events of this type; `payment.*` for all of a kind.", TEXT),
    "subject_id": _query("subject_id", "Only events of the payment, task or account of this id.", TEXT),
    "event_account": _query("account_id", "Only events about this account.", TEXT),
    "recorded_since": _query("since", "Only what was recorded at this instant or later.", INSTANT),
    "recorded_until": _query("until", "Only what was recorded before this instant.", INSTANT),
    "event_order": _query(
        "order",
        "`desc` begins with what was recorded last.",
        {"type": "string", "enum": list(ORDERS), "default": ORDERS[0]},
    ),
    "wait_seconds": _query(
        "wait_seconds",
        "The longest wait for the next event if there is none. A wait ends after 18 seconds. It ends after two seconds "
        "if too many requests wait already. Then send the request again.",
        {"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX, "default": 0},
    ),
    "order": _query(
        "order",
        "`desc` sorts the latest instant first.",
        {"type": "string", "enum": list(ORDERS), "default": ORDERS[0]},
    ),
    "until": _query("until", "The last instant; 30 days ahead if it is left out.", INSTANT),
    "status": _query("status", "Only tasks in this state.", {"type": "string", "enum": list(STATUSES)}),
    "run_status": _query("status", "Only runs in this state.", enum_of(task.State)),
    "run_order": _query(
        "order",
        "`asc` sorts the earliest instant first.",
        {"type": "string", "enum": list(ORDERS), "default": ORDERS[1]},
    ),
    "of_task": _query("task_id", "Only runs of the recurring task of this id.", TEXT),
    "run_id": _path("run_id", "The id of a run."),
    "subscription_id": _path("subscription_id", "The id of a subscription."),
    "delivery_status": _query("status", "Only deliveries in this state.", enum_of(task.State)),
    "event_id": _path("event_id", "The id of an event."),
    "flow_key": _path("flow_key", "The name of a flow key, percent-encoded."),
    "switch_name": _path(
        "switch_name", "`settlement`, `api_writes`, `tenant:<id>` or `target:<type>`, percent-encoded or not."
    ),
    "destination_id": _path("destination_id", "The id of a destination, from the list."),
    "reconciliation_id": _path("reconciliation_id", "The id of a reconciliation."),
    "operation_id": _path("operation_id", "The id of an operation."),
    "queue": _path("queue", "`tasks` or `payments`."),
    "dlq_group": _query("group", "Numbers instead of letters.", {"type": "string", "enum": ["failure"]}),
    "job_id": _path("job_id", "The id of a job."),
    "tenant_id": _path("tenant_id", "The id of a tenant."),
    "key_id": _path("key_id", "The id of a key: the part of its text between the two first underscores."),
    "name": _query("name", "Only tasks of this name.", TEXT),
    "tag": _query("tag", "Only tasks with this tag.", TEXT),
    "audit_after": _query("after", "The `goes_on_after` of the audit before.", TEXT),
    "limit": _query(
        "limit",
        "The greatest number of items on the page.",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    ),
    "cursor": _query(
        "cursor", "The `next_cursor` of the page before, for the same filters and the same tenant.", TEXT
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "1 to 255 visible ASCII characters. The key belongs to the task for 30 days.",
        _KEY,
    ),
    "IdempotencyKeyNeeded": _header(
        "Idempotency-Key", "1 to 255 visible ASCII characters. The key is kept for ever.", _KEY, required=True
    ),
    "IfMatch": _header(
        "If-Match",
        "The version that the client has read, such as an ETag. If the item has another version, the request is "
        "refused.",
        {"type": "string", "pattern": '^(\\*|[0-9]{1,9}|"[0-9]{1,9}(-[0-9a-f]{8})?")$'},
    ),
}
HEADERS: Final[dict[str, Schema]] = {
    "Location": {"description": "The path of the new resource.", "schema": TEXT},
    "ETag": {"description": "The version, in quotes.", "schema": TEXT},
    "Idempotent-Replayed": {
        "description": "Present if an earlier request with the same key did the work.",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {"description": "The seconds to wait.", "schema": TEXT},
    "RateLimit-Policy": {"description": "The quota and its window in seconds.", "schema": TEXT},
    "RateLimit": {
        "description": "The rest of the quota, and the seconds until it grows.",
        "schema": TEXT,
    },
    "WWW-Authenticate": {"description": "The scheme: Bearer.", "schema": TEXT},
}
ERROR_HEADERS: Final = {
    "Retry-After": frozenset({"idempotency_in_progress", "read_only", "unavailable"}),
    "WWW-Authenticate": frozenset({"unauthenticated"}),
}
