"""The contract of receivers: the request they get, the checks they make and the answers they may give.

`docs/receivers.md` says the same for people; a test compares both with each other and with what is sent.
"""

from typing import Any, Final

from functions.api.reference.shapes import INSTANT, NUMBER, TEXT, Schema, described
from postdate.domain import event_types

PARAGRAPHS: Final = (
    "A run that is due is one HTTP request to its task's URL: the task's method, the payload as the body, the headers "
    "below and the task's own headers. A task without a payload sends the JSON text `null`.",
    "Verify the signature first. `webhook-signature` holds one `v1,` signature for each live secret, separated by "
    "spaces; two secrets are live while one replaces the other. A signature is the Base64 text of the HMAC-SHA256 of "
    "`webhook-id`, `webhook-timestamp` and the raw body, joined by dots. The key is what follows `whsec_` in the "
    "secret, decoded from Base64. Refuse a timestamp that is more than five minutes away from your clock. This is "
    "Standard Webhooks 1.0, and its libraries do all of it:",
    "```\n"
    "from standardwebhooks import Webhook\n"
    'payload = Webhook("whsec_...").verify(body, headers)  # raises WebhookVerificationError\n'
    "```",
    "The operator who makes a tenant sees its secret.",
    "A run may arrive again after a lost answer, a timeout or a crash. All its attempts carry the "
    "same `Idempotency-Key`. Store the key in the same transaction as the work; if it is stored already, answer 204 "
    "and do nothing.",
    "Refuse an outdated attempt. `Postdate-Token` rises with each attempt of a run. An attempt with a lower token than "
    "the highest one seen was overtaken by another.",
    "The status decides and the body is not read. The head of the answer has to arrive within the task's "
    "`timeout_seconds`.",
    "For a task with `ack: explicit` a 2xx means that the run was taken over, and the receiver ends it: "
    "`POST /api/v1/runs/{run_id}/complete` or `fail`, with the run's id from `Postdate-Run-Id`, the token from "
    "`Postdate-Token` and a key with the scope `tasks:write`. `heartbeat` asks for another `timeout_seconds`. If "
    "no request of the receiver arrives for that time, the next attempt begins. The answer 409 `invalid_state` means "
    "that the run has ended or that a newer attempt exists: stop.",
    "A message carries the same headers as message attributes, but for `Content-Type`. An event carries ids, "
    "depth, attempt, token, instant and key in `detail.postdate` and the payload in `detail.payload`; it has no "
    "signature.",
)
HEADERS: Final[dict[str, tuple[Schema, str]]] = {
    "Content-Type": (TEXT, "`application/json`."),
    "Idempotency-Key": (TEXT, "The run's id, the same for all its attempts."),
    "Postdate-Task-Id": (TEXT, "The task as it was registered. All runs of a recurring task have the same."),
    "Postdate-Run-Id": (TEXT, "The run, for `/api/v1/runs/{run_id}`. Of a one-time task: the task's own id."),
    "Postdate-Depth": (
        NUMBER,
        "Counts the deliveries that led here. A request to Postdate that follows from this delivery sends it on; above "
        "5 it registers nothing.",
    ),
    "Postdate-Attempt": (NUMBER, "Counts attempts since the registration or the last redrive, for people."),
    "Postdate-Token": (NUMBER, "Rises with each attempt and never starts again."),
    "Postdate-Planned-At": (INSTANT, "The instant that the run was planned for."),
    "webhook-id": (TEXT, "The run's id: what the signature calls the message."),
    "webhook-timestamp": (NUMBER, "When this attempt was signed, in seconds since 1970."),
    "webhook-signature": (TEXT, "The signatures, separated by spaces."),
}
ANSWERS: Final[dict[str, str]] = {
    "2XX": "Done, or with `ack: explicit`: taken over.",
    "3XX": "Not followed: a failure, and another attempt comes.",
    "410": "The run ends as DEAD, without another attempt.",
    "422": "The run ends as DEAD, without another attempt.",
    "default": "A failure: another attempt comes as the task's `retry` says, not before the `Retry-After` of the "
    "answer. With the header `Postdate-Retry: never` the run ends as DEAD. No answer in time is a failure as well. "
    "A destination that is down for ten attempts in a row gets single calls until one succeeds.",
}


EVENTS: Final = (
    "A subscription (`POST /api/v1/subscriptions`) sends each event of its types that fits its filter to its target. A "
    "delivery is a run: it has the headers above, is signed with the subscription's own secret, and is retried. The "
    "body is the event. An event arrives at least once: keep its `event_id`. With `ordered`, the events of one subject "
    "arrive in the order of `sequence`. The answer 410 ends the subscription.",
    *(
        f"About a {kind}: " + ", ".join(f"`{kind}.{name}`" for name in names) + "."
        for kind, names in event_types.NAMES.items()
    ),
)


def webhooks() -> dict[str, Any]:
    """The entry `webhooks` of the OpenAPI document, which leaves `Content-Type` to the body."""
    of_run = _received(
        "receiveRun",
        "What a receiver gets and answers",
        PARAGRAPHS,
        described({}, "The task's payload."),
        ANSWERS,
    )
    gone = {"410": "The subscription ends, and no event follows."}
    event = {"$ref": "#/components/schemas/Event"}
    of_event = _received("receiveEvent", "What a subscriber gets and answers", EVENTS, event, ANSWERS | gone)
    return {"run": {"post": of_run}, "event": {"post": of_event}}


def _received(
    name: str, summary: str, paragraphs: tuple[str, ...], body: dict[str, Any], answers: dict[str, str]
) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "description": "\n\n".join(paragraphs),
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "schema": schema, "description": text}
            for name, (schema, text) in HEADERS.items()
            if name != "Content-Type"
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {status: {"description": text} for status, text in answers.items()},
    }
