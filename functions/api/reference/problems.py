"""How questions fail: what each error means, what its receiver can do, and what it looks like."""

from typing import Final

from functions.api.errors import TOLD_MAX
from functions.api.reference.examples import TASK_ID
from functions.api.reference.shapes import TEXT, Schema, every, list_of, told
from postdate.domain import errors
from postdate.domain.limits import REGISTERED

# What any operation may answer, by how its key is shown.
ALWAYS: Final = {
    "key": ("unauthenticated", "forbidden", "internal", "unavailable"),
    "internal": ("unauthenticated", "internal", "unavailable"),
}

# What an operation that takes a body may answer as well.
OF_BODIES: Final = ("malformed", "validation_failed", "payload_too_large", "unsupported_media_type")

# One of each kind, what it means and what its receiver can do. The documented problem is what this very error makes.
ERRORS: Final[tuple[tuple[Exception, str, str], ...]] = (
    (
        errors.Malformed(),
        "The body is no JSON, no UTF-8, or gives a name twice.",
        "Send JSON in UTF-8. `detail` says what is wrong.",
    ),
    (
        errors.ValidationFailed([("delay_seconds", "is at least 0")]),
        "A field, a parameter or a header is wrong, or not known.",
        "`errors` names each of them, up to 20. Long names and messages are cut.",
    ),
    (
        errors.Unauthenticated(),
        "The key is missing, unknown or expired.",
        "Send `Authorization: Bearer <key>`. With a key that is not good every path is answered like this, whether it "
        "exists or not. Without any key the gateway answers, and not with a problem.",
    ),
    (
        errors.Forbidden("this needs the scope tasks:write"),
        "The key does not have the scope that this needs, may not pay from or administer this account, or may not act "
        "for the tenant in `Postdate-Tenant`.",
        "Use a key that has the scope, the account or the tenant named in `detail`.",
    ),
    (
        errors.NotFound(f"there is no task {TASK_ID}"),
        "There is no such thing, or it belongs to another tenant.",
        "Check the id and the key.",
    ),
    (
        errors.InvalidState("RUNNING", "a task that is RUNNING cannot be changed"),
        "The thing is in a state that does not allow this.",
        "`state` says which. Nothing was changed.",
    ),
    (
        errors.VersionMismatch("the task has version 2"),
        "It changed since the version in If-Match.",
        "Get it, decide again, and send its new ETag.",
    ),
    (
        errors.LimitExceeded([("amount", "is 1 to 500 for this account")]),
        "More, or less, than the account that pays may do at once, or than anybody may.",
        "`errors` names the field and what is allowed.",
    ),
    (
        errors.InsufficientFunds("the account rent does not have that much available"),
        "The account has less than that available.",
        "Deposit money, or cancel a payment that holds some, and send the same request again.",
    ),
    (
        errors.AccountFrozen("the account rent is frozen"),
        "An account that would pay or be paid is frozen.",
        "`detail` says which. Send the same request again when it is unfrozen.",
    ),
    (
        errors.BooksDisagree("the account rent does not hold what is reserved for the payment"),
        "What the account holds is not what its payments and its journal say. No money was moved.",
        "`GET /api/v1/audit` shows the difference. An administrator sets the account right by an adjustment with "
        "`to_journal`; then send the same request again.",
    ),
    (
        errors.LoopRefused("6 deliveries led to this request, each of which registered the next"),
        "A delivery registered a task, whose delivery registered the next, and so on.",
        "End the chain. `GET /api/v1/limits` tells how deep it may be.",
    ),
    (
        errors.QuotaExceeded(
            "at most 1000 tasks and payments a second are registered",
            quota=REGISTERED,
            most=10_000,
            window_seconds=10,
        ),
        "The tenant registers more tasks and payments than it may. Nothing of this request was registered.",
        "Send the request again after `Retry-After`. `RateLimit-Policy` tells the quota and its window in seconds.",
    ),
    (
        errors.IdempotencyKeyMissing(),
        "What moves money needs an Idempotency-Key.",
        "Make one up for each payment, and send the same one with each repeat of the request.",
    ),
    (
        errors.IdempotencyKeyReused(),
        "The Idempotency-Key stands for another request.",
        "Use a new key, or send the first body again.",
    ),
    (
        errors.IdempotencyInProgress(),
        "Another request with this Idempotency-Key is still being worked on.",
        "Wait for `Retry-After` seconds and send the same request again.",
    ),
    (
        errors.DestinationNotAllowed("numeric host: only names may be called"),
        "The destination may not be called.",
        "A webhook needs https, a public host name and no credentials in the URL. Any other "
        "destination has to be on the tenant's list.",
    ),
    (
        errors.PayloadTooLarge(),
        "The payload is larger than 256 KB as compact JSON text, or the body is larger than 1 MB, or than 5 MB for "
        "a batch.",
        "Store the payload elsewhere and send a reference to it, or send fewer items in a batch.",
    ),
    (
        errors.UnsupportedMediaType(),
        "The body is not said to be JSON, or to be in another charset than UTF-8.",
        "Send `Content-Type: application/json`.",
    ),
    (
        errors.MethodNotAllowed("/api/v1/tasks takes GET, HEAD, POST", allowed=("GET", "HEAD", "POST")),
        "The path exists, and takes other methods.",
        "`Allow` names them.",
    ),
    (
        errors.Unavailable(),
        "A service that is needed did not answer, or the thing was changed by others at the same moment.",
        "Wait for `Retry-After` seconds and send the same request again. Only with an Idempotency-Key is it "
        "certain that this does not register a second one.",
    ),
    (RuntimeError(), "Something went wrong on our side.", "Report the `request_id`."),
)


def schema(codes: list[str]) -> Schema:
    wrong = every(field=told(TEXT, "As you wrote it; steps are joined by dots."), message=TEXT)
    problem = every(
        type=told({"type": "string", "format": "uri-reference"}, "Where `code` is explained."),
        title=told(TEXT, "The status in words."),
        status={"type": "integer"},
        detail=told(TEXT, "What happened, for people."),
        code=told({"type": "string", "enum": codes}, "What happened, for programs."),
        request_id=told(TEXT, "What our logs know the request by."),
        errors=told(
            list_of(wrong) | {"maxItems": TOLD_MAX}, "One line for each wrong field; empty for other codes."
        ),
    )
    problem["properties"]["state"] = told(TEXT, "With `invalid_state`: the state that the thing is in.")
    return problem
