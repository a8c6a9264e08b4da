"""The errors of the API: the meaning of each, its remedy, and an example."""

from typing import Final

from functions.api.errors import TOLD_MAX
from functions.api.reference.examples import TASK_ID
from functions.api.reference.shapes import TEXT, Schema, described, every, list_of
from postdate.domain import errors
from postdate.domain.limits import REGISTERED

# The errors that any operation may answer, by how its key is shown.
ALWAYS: Final = {
    "key": ("unauthenticated", "forbidden", "internal", "unavailable"),
    "internal": ("unauthenticated", "internal", "unavailable"),
}

# The further errors of an operation that takes a body.
OF_BODIES: Final = ("malformed", "validation_failed", "payload_too_large", "unsupported_media_type")

# One of each kind, what it means and what its receiver can do. The documented problem is what this very error makes.
ERRORS: Final[tuple[tuple[Exception, str, str], ...]] = (
    (
        errors.Malformed(),
        "The body is not JSON, is not UTF-8, or contains a name twice.",
        "Send JSON in UTF-8. `detail` names the mistake.",
    ),
    (
        errors.ValidationFailed([("delay_seconds", "is at least 0")]),
        "A field, a parameter or a header is invalid or unknown.",
        "`errors` names up to 20 of them. Long names and messages are shortened.",
    ),
    (
        errors.Unauthenticated(),
        "The key is missing, unknown or expired.",
        "Send `Authorization: Bearer <key>`. With an invalid key every path has this answer, also a path that does not "
        "exist. Without a key the gateway answers, and its answer is not a problem.",
    ),
    (
        errors.Forbidden("this request needs the scope tasks:write"),
        "The key lacks the scope that this request needs, may not pay from or administer this account, or may not act "
        "for the tenant in `Postdate-Tenant`.",
        "Use a key that has the scope, the account or the tenant named in `detail`.",
    ),
    (
        errors.NotFound(f"there is no task {TASK_ID}"),
        "The resource does not exist, or it belongs to another tenant.",
        "Check the id and the key.",
    ),
    (
        errors.InvalidState("RUNNING", "a task that is RUNNING cannot be changed"),
        "The state of the item does not allow this request.",
        "`state` names the state. Nothing was changed.",
    ),
    (
        errors.VersionMismatch("the task has version 2"),
        "The item changed after the version in If-Match.",
        "Get the item, decide again, and send its new ETag.",
    ),
    (
        errors.LimitExceeded([("amount", "is 1 to 500 for this account")]),
        "The value is outside the limits of the paying account or of the environment.",
        "`errors` names the field and the limits.",
    ),
    (
        errors.InsufficientFunds("the account rent has too little available money"),
        "The account has too little available money.",
        "Deposit money, or cancel a payment that holds money, and send the same request again.",
    ),
    (
        errors.AccountFrozen("the account rent is frozen"),
        "The paying or the paid account is frozen.",
        "`detail` names the account. Send the same request again when the account is no longer frozen.",
    ),
    (
        errors.BooksDisagree("the account rent lacks the hold of the payment"),
        "The account disagrees with its payments and its journal. No money was moved.",
        "`GET /api/v1/audit` shows the difference. An administrator repairs the account by an adjustment with "
        "`to_journal`; then send the same request again.",
    ),
    (
        errors.LoopRefused("6 deliveries led to this request, each of which registered the next"),
        "A delivery registered a task, whose delivery registered the next, and so on.",
        "End the chain. `GET /api/v1/limits` tells how deep it may be.",
    ),
    (
        errors.QuotaExceeded(
            "the quota of 1000 tasks and payments a second is used up",
            quota=REGISTERED,
            most=10_000,
            window_seconds=10,
        ),
        "The tenant registers more tasks and payments than it may. Nothing of this request was registered.",
        "Send the request again after `Retry-After`. `RateLimit-Policy` tells the quota and its window in seconds.",
    ),
    (
        errors.RateLimited("this key may send 20 requests a second", retry_seconds=1),
        "The key has a limit of requests, and the requests of the last seconds have used it up.",
        "Send the request again after `Retry-After`. `RateLimit` tells with each answer how many requests are left.",
    ),
    (
        errors.IdempotencyKeyMissing(),
        "A request that moves money needs an Idempotency-Key.",
        "Generate a new key for each payment, and send the same key with each repetition of the request.",
    ),
    (
        errors.IdempotencyKeyReused(),
        "The Idempotency-Key was used for a different request.",
        "Use a new key, or send the first body again.",
    ),
    (
        errors.ReadOnly(),
        "An operator has switched off all writes of the API.",
        "Send the request again later, with the same Idempotency-Key. Reads are served meanwhile.",
    ),
    (
        errors.IdempotencyInProgress(),
        "Another request with this Idempotency-Key is still in progress.",
        "Wait for `Retry-After` seconds and send the same request again.",
    ),
    (
        errors.DestinationNotAllowed("the host is numeric: only names are allowed"),
        "The destination is not allowed.",
        "A webhook needs https, a public host name and no credentials in the URL. Any other "
        "destination must be on the tenant's list.",
    ),
    (
        errors.PayloadTooLarge(),
        "The payload is larger than 256 KB as compact JSON text, or the body is larger than 1 MB, or than 5 MB for "
        "a batch.",
        "Store the payload elsewhere and send a reference to it, or send fewer items in a batch.",
    ),
    (
        errors.UnsupportedMediaType(),
        "The Content-Type is not JSON, or names another charset than UTF-8.",
        "Send `Content-Type: application/json`.",
    ),
    (
        errors.MethodNotAllowed("/api/v1/tasks supports GET, HEAD, POST", allowed=("GET", "HEAD", "POST")),
        "The path exists and supports other methods.",
        "`Allow` names them.",
    ),
    (
        errors.Unavailable(),
        "A required service did not answer, or another request changed the item at the same moment.",
        "Wait for `Retry-After` seconds and send the same request again. Use an Idempotency-Key: without one the "
        "repetition may register a second item.",
    ),
    (RuntimeError(), "An internal error occurred.", "Report the `request_id`."),
)


def schema(codes: list[str]) -> Schema:
    wrong = every(field=described(TEXT, "The name in the request; dots join the steps."), message=TEXT)
    problem = every(
        type=described({"type": "string", "format": "uri-reference"}, "Where `code` is explained."),
        title=described(TEXT, "The status in words."),
        status={"type": "integer"},
        detail=described(TEXT, "The error, for people."),
        code=described({"type": "string", "enum": codes}, "The error, for programs."),
        request_id=described(TEXT, "The id of the request in the logs."),
        errors=described(
            list_of(wrong) | {"maxItems": TOLD_MAX}, "One line for each wrong field; empty for other codes."
        ),
    )
    problem["properties"]["state"] = described(TEXT, "With `invalid_state`: the state of the item.")
    return problem
