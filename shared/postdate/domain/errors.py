"""All errors as one tree. The branch answers the question of a worker: is a retry useful, and when?

    PostdateError
    ├── Rejected              no retry: the answer will not change
    │   ├── Malformed             the body is not what it says it is
    │   ├── ValidationFailed      a field is wrong; the error names it
    │   │   └── LimitExceeded         the value is valid, but above this account's limit
    │   ├── Unauthenticated
    │   ├── Forbidden
    │   ├── NotFound              also for what belongs to another tenant
    │   ├── InvalidState          the item is in a state that does not allow it
    │   ├── VersionMismatch       the caller's If-Match names another version
    │   ├── IdempotencyKeyMissing
    │   ├── IdempotencyKeyReused
    │   ├── InsufficientFunds     the account has less than the amount
    │   ├── AccountFrozen
    │   ├── BooksDisagree         an account, its journal and its payments: a person has to look
    │   ├── DestinationNotAllowed
    │   ├── PayloadTooLarge
    │   ├── MethodNotAllowed      the path exists, but not with this method
    │   ├── UnsupportedMediaType  the body's content type is not JSON
    │   ├── LoopRefused           tasks that register tasks went on for too long
    │   ├── QuotaExceeded         the tenant's quota is used up for the moment
    │   ├── RateLimited           the key's own limit of requests is used up for the moment
    │   └── NotRecoverable        a restore cannot be recovered as asked; no request meets this error
    ├── Conflict              another process was faster: load again, decide again
    │   └── IdempotencyInProgress
    └── Unavailable           retry later: a service did not answer, or throttled the call
        ├── ReadOnly              retry when an operator has switched writes of the API on again
        ├── Stopped               retry when an operator has switched settlement on again
        ├── Unreadable            retry at newer code, which wrote what this code cannot read
        └── SecretBroken          a stored secret was changed or moved: a person has to look

A class's docstring is its message, `code` its name on the wire.
"""

from collections.abc import Sequence
from typing import ClassVar


class PostdateError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "internal"

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or type(self).__doc__)


class Rejected(PostdateError):
    """The request cannot be carried out."""


class Conflict(PostdateError):
    """The item changed in between."""

    code = "conflict"


class Unavailable(PostdateError):
    """A required service did not answer."""

    code = "unavailable"


class ReadOnly(Unavailable):
    """An operator has switched off all writes. Reads are served."""

    code = "read_only"


class Stopped(Unavailable):
    """An operator has switched off what this request does."""


class Unreadable(Unavailable):
    """Newer code has written a row that this code cannot read."""


class SecretBroken(Unavailable):
    """A stored secret does not open."""


class Malformed(Rejected):
    """The body is not valid JSON."""

    code = "malformed"


class ValidationFailed(Rejected):
    """The request is not valid."""

    code = "validation_failed"

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        self.fields = tuple(fields)
        super().__init__("; ".join(f"{name}: {message}" for name, message in self.fields))


class LimitExceeded(ValidationFailed):
    """The request exceeds a limit."""

    code = "limit_exceeded"


class Unauthenticated(Rejected):
    """The key is missing, unknown or expired."""

    code = "unauthenticated"


class Forbidden(Rejected):
    """The key lacks the scope that this request needs."""

    code = "forbidden"


class NotFound(Rejected):
    """The resource does not exist."""

    code = "not_found"


class InvalidState(Rejected):
    """The state of the item does not allow this request."""

    code = "invalid_state"

    def __init__(self, state: str, detail: str) -> None:
        # The state in which the item is; a field of the answer.
        self.state = state
        super().__init__(detail)


class VersionMismatch(Rejected):
    """The version of the item differs from If-Match."""

    code = "version_conflict"


class IdempotencyKeyReused(Rejected):
    """This Idempotency-Key was used before with a different request."""

    code = "idempotency_key_reused"


class IdempotencyKeyMissing(Rejected):
    """The request needs an Idempotency-Key of 1 to 255 visible characters, different for each payment."""

    code = "idempotency_key_missing"


class InsufficientFunds(Rejected):
    """The account has too little available money."""

    code = "insufficient_funds"


class AccountFrozen(Rejected):
    """The account is frozen."""

    code = "account_frozen"


class BooksDisagree(Rejected):
    """The books of an account disagree with its payments."""

    code = "books_disagree"


class LoopRefused(Rejected):
    """Too many deliveries led to this request, each of which registered the next."""

    code = "loop_refused"


class QuotaExceeded(Rejected):
    """The tenant's quota is used up for now."""

    code = "quota_exceeded"

    def __init__(self, detail: str | None = None, *, quota: str, most: int, window_seconds: int) -> None:
        # The name of the quota, its size, and the window that it counts in; a header of the answer.
        self.quota = quota
        self.most = most
        self.window_seconds = window_seconds
        super().__init__(detail)


class RateLimited(Rejected):
    """The key has sent as many requests as it may for now."""

    code = "rate_limited"

    def __init__(self, detail: str | None = None, *, retry_seconds: int) -> None:
        # The header Retry-After of the answer.
        self.retry_seconds = retry_seconds
        super().__init__(detail)


class DestinationNotAllowed(Rejected):
    """The destination is not allowed."""

    code = "destination_not_allowed"


class PayloadTooLarge(Rejected):
    """The payload is larger than 256 KB."""

    code = "payload_too_large"


class MethodNotAllowed(Rejected):
    """The path does not support this method."""

    code = "method_not_allowed"

    def __init__(self, detail: str | None = None, *, allowed: Sequence[str] = ()) -> None:
        # The header Allow of the answer.
        self.allowed = tuple(allowed)
        super().__init__(detail)


class UnsupportedMediaType(Rejected):
    """The body must be sent as Content-Type: application/json, in UTF-8."""

    code = "unsupported_media_type"


class IdempotencyInProgress(Conflict):
    """A request with this Idempotency-Key is still in progress."""

    code = "idempotency_in_progress"


class NotRecoverable(Rejected):
    """The restored tables cannot be recovered as asked."""
