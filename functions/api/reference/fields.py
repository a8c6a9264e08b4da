"""What each field, parameter and header means, and the shape of each answer. One name, one meaning."""

from typing import Any, Final

from functions.api.listing import LIMIT_DEFAULT, LIMIT_MAX
from postdate.domain.task import State
from postdate.domain.transitions import HISTORY_LINES_MAX

Schema = dict[str, Any]

MEANINGS: Final = {
    "run_at": "The instant it is due: at most a year ahead, at most a minute ago, which means now.",
    "delay_seconds": "Instead of `run_at`: how long from now it is due.",
    "target": "Where it goes.",
    "payload": "Any JSON, up to 256 KB as compact JSON text. It is the body that the target gets.",
    "retry": "What follows a failed attempt.",
    "timeout_seconds": "How long one attempt to a webhook may take.",
    "name": "A name of yours. It need not be unique; lists can be filtered by it.",
    "tags": "Words of yours; lists can be filtered by one of them.",
    "idempotency_key": "As the header Idempotency-Key, for this task alone.",
    "tasks": "Each is checked by itself.",
    "type": "The kind of target.",
    "url": "https, a public host name. Redirects are not followed. It is checked now and at every attempt.",
    "method": "The method of the request.",
    "headers": "Up to 20 headers of yours, 4096 bytes in all; not those that Postdate sets. Answers show names only.",
    "queue_url": "A queue on your tenant's list.",
    "max_attempts": "How often it is tried at most, the first attempt included.",
    "initial_seconds": "The shortest wait before another attempt.",
    "multiplier": "By what the wait may grow from attempt to attempt.",
    "max_seconds": "The longest wait before another attempt, and the most that a `Retry-After` is obeyed.",
    "jitter": "Whether the wait is drawn between the shortest and the longest, so that what failed together "
    "does not return together.",
}


def _header(name: str, text: str, schema: Schema, *, required: bool = False) -> Schema:
    return {"name": name, "in": "header", "description": text, "schema": schema, "required": required}


def _query(name: str, text: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "description": text, "schema": schema}


_TEXT: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
_STATUS: Final[Schema] = {"type": "string", "enum": [state.value for state in State]}

PARAMETERS: Final[dict[str, Schema]] = {
    "task_id": {
        "name": "task_id",
        "in": "path",
        "required": True,
        "description": "The id of a task.",
        "schema": _TEXT,
    },
    "status": _query("status", "Only tasks in this state.", _STATUS),
    "name": _query("name", "Only tasks of this name.", _TEXT),
    "tag": _query("tag", "Only tasks with this tag.", _TEXT),
    "limit": _query(
        "limit",
        "How many at most.",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
    ),
    "cursor": _query(
        "cursor", "`next_cursor` of the page before, for the same filters and the same tenant.", _TEXT
    ),
    "IdempotencyKey": _header(
        "Idempotency-Key",
        "1 to 255 visible ASCII characters. It stands for the task for 30 days.",
        {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
    ),
    "IfMatch": _header(
        "If-Match",
        "The version that the decision was made on, such as an ETag. Another version is refused.",
        {"type": "string", "pattern": '^(\\*|"?[0-9]{1,9}"?)$'},
    ),
}
HEADERS: Final[dict[str, Schema]] = {
    "Location": {"description": "The path of the task.", "schema": _TEXT},
    "ETag": {"description": "The version, in quotes.", "schema": _TEXT},
    "Idempotent-Replayed": {
        "description": "Present when an earlier request with this key registered the task.",
        "schema": {"type": "string", "const": "true"},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": _TEXT},
    "WWW-Authenticate": {"description": "The scheme: Bearer.", "schema": _TEXT},
}
ERROR_HEADERS: Final = {
    "Retry-After": frozenset({"idempotency_in_progress", "unavailable"}),
    "WWW-Authenticate": frozenset({"unauthenticated"}),
}


def _object(**properties: Schema) -> Schema:
    """Every property is always there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _told(schema: Schema, text: str) -> Schema:
    return schema | {"description": text}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


_TASK: Final[dict[str, Schema]] = {
    "task_id": _told(_TEXT, "It holds the minute that the task was registered for, so ids sort by time."),
    "status": _told(
        _STATUS,
        "PENDING and RETRYING wait for an attempt. SUCCEEDED, DEAD and CANCELLED are final; only a redrive brings "
        "a DEAD task back.",
    ),
    "name": _or_null(_TEXT),
    "tags": _list(_TEXT),
    "target": {"oneOf": [_ref("WebhookTarget"), _ref("SqsTarget")]},
    "run_at": _told(_INSTANT, "The instant asked for."),
    "next_run_at": _told(_or_null(_INSTANT), "When the next attempt is due; null when none is waiting."),
    "attempts": _told(_COUNT, "Attempts so far, counted anew after a redrive."),
    "last_run": _or_null(_ref("LastRun")),
    "error": _told(_or_null(_TEXT), "Why the last attempt failed, in our words."),
    "retry": _ref("Retry"),
    "timeout_seconds": _COUNT,
    "created_at": _INSTANT,
    "version": _told({"type": "integer", "minimum": 1}, "One more with each change."),
    "history": _told(
        _list(_ref("HistoryLine")),
        f"One line a version: the first, and the newest {HISTORY_LINES_MAX - 1} after it.",
    ),
}
_RESULT: Final[Schema] = {
    "oneOf": [
        _object(index=_COUNT, task=_ref("Task")),
        _object(index=_COUNT, error=_ref("Problem")),
    ]
}


def answers(codes: list[str]) -> dict[str, Schema]:
    return {
        "Task": _object(**_TASK),
        "TaskWithPayload": _object(**_TASK, payload={"description": "The payload as it was given."}),
        "CancelledTask": _object(success={"const": True}, **_TASK),
        "TaskList": _object(
            tasks=_list(_ref("Task")),
            next_cursor=_told(_or_null(_TEXT), "Where the next page begins; null on the last one."),
        ),
        "BatchAnswer": _object(results=_told(_list(_RESULT), "In the order of the tasks sent.")),
        "WebhookTarget": _object(
            type={"const": "webhook"},
            url=_TEXT,
            method=_TEXT,
            headers=_told(
                {"type": "object", "additionalProperties": {"const": "***"}},
                "Names only: a value may be a credential.",
            ),
        ),
        "SqsTarget": _object(type={"const": "sqs"}, queue_url=_TEXT),
        "Retry": _object(
            max_attempts=_COUNT,
            initial_seconds={"type": "number"},
            multiplier={"type": "number"},
            max_seconds={"type": "number"},
            jitter={"type": "boolean"},
        ),
        "LastRun": _object(
            planned_at=_told(_INSTANT, "The instant asked for."),
            started_at=_told(_INSTANT, "When the newest attempt was claimed."),
            finished_at=_told(_or_null(_INSTANT), "When the task reached its final state."),
            lateness_ms=_told(
                {"type": "integer"}, "From the instant asked for to the first attempt's claim."
            ),
            token=_told(_COUNT, "The number of the newest claim. The target is told the same."),
            status={"type": "string", "enum": ["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]},
        ),
        "HistoryLine": _object(
            version=_COUNT,
            at=_INSTANT,
            status=_STATUS,
            attempt=_COUNT,
            reason=_told(_TEXT, "Why. For a claim: what sent the call."),
        ),
        "Problem": _problem(codes),
        "Health": _object(status={"const": "ok"}),
    }


def _problem(codes: list[str]) -> Schema:
    wrong = _object(field=_told(_TEXT, "As you wrote it; steps are joined by dots."), message=_TEXT)
    problem = _object(
        type=_told({"type": "string", "format": "uri-reference"}, "Where `code` is explained."),
        title=_told(_TEXT, "The status in words."),
        status={"type": "integer"},
        detail=_told(_TEXT, "What happened, for people."),
        code=_told({"type": "string", "enum": codes}, "What happened, for programs."),
        request_id=_told(_TEXT, "What our logs know the request by."),
        errors=_told(_list(wrong), "One line for each wrong field; empty for other codes."),
    )
    problem["properties"]["state"] = _told(_STATUS, "With `invalid_state`: the state the task is in.")
    return problem
