"""Errors of a request.

PostdateError
├── ApiError              the API refused: `status`, `code`, `request_id`, `fields`
│   ├── ValidationFailed  400, 413, 415, 422: the request is wrong and stays wrong
│   ├── Unauthenticated   401
│   ├── Forbidden         403
│   ├── NotFound          404
│   ├── Conflict          409, 412: read the item again and decide again
│   │   ├── InvalidState
│   │   └── InsufficientFunds
│   ├── RateLimited       429
│   └── Unavailable       5xx
├── ConnectionFailed      no answer came: the request may have been carried out
└── DeadlineExceeded      the time for the request and its retries is over
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast


class PostdateError(Exception):
    """Any failure of a request.

    `idempotency_key` is the key that the request carried, the one given or the one that the client drew; None if it
    carried none. `sent` has the items of a batch of payments or tasks, each with its key. Send the request again with
    that key, or the batch with those items: nothing that was carried out is done twice.
    """

    idempotency_key: str | None = None
    sent: Sequence[Any] = ()


class ConnectionFailed(PostdateError):
    """No answer came. The API may have carried out the request: send it again with its `idempotency_key`, or the items
    of a batch as `sent`."""


class DeadlineExceeded(PostdateError):
    """The time for a request with its retries, or for an awaited state, is over. The API may have carried out the
    request, as after ConnectionFailed."""


class ApiError(PostdateError):
    """The API refused the request. `code` is stable; `request_id` finds the request in the service's logs."""

    def __init__(self, status: int, told: Mapping[str, Any]) -> None:
        self.status = status
        self.code: str = str(told.get("code", ""))
        self.request_id: str = str(told.get("request_id", ""))
        self.fields: list[dict[str, str]] = list(told.get("errors", ()))
        self.state: str | None = told.get("state")
        detail = told.get("detail") or told.get("message") or f"the API answered {status}"
        named = "".join(f"; {each.get('field')} {each.get('message')}" for each in self.fields)
        super().__init__(
            f"{detail}{named} ({status} {self.code}, request {self.request_id})".replace(" , ", ", ")
        )


class ValidationFailed(ApiError):
    """The request is wrong, and would be refused again."""


class Unauthenticated(ApiError):
    """The key is unknown, expired or revoked."""


class Forbidden(ApiError):
    """The key lacks a scope, or may not use an account."""


class NotFound(ApiError):
    """The tenant has no such item."""


class Conflict(ApiError):
    """Another change came first, or the item's state does not allow the request."""


class InvalidState(Conflict):
    """The item's state, `state`, does not allow the request."""


class InsufficientFunds(Conflict):
    """The account has less available than the amount."""


class RateLimited(ApiError):
    """The tenant's quota or the gateway's rate is used up, also after the retries."""


class Unavailable(ApiError):
    """The service could not answer, also after the retries."""


_BY_CODE: Final = {"invalid_state": InvalidState, "insufficient_funds": InsufficientFunds}
_BY_STATUS: Final = {
    400: ValidationFailed,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    413: ValidationFailed,
    415: ValidationFailed,
    422: ValidationFailed,
    429: RateLimited,
}
_BROKEN: Final = 500


def error_of(status: int, told: object) -> ApiError:
    """The error for an answer that is not a success."""
    problem: Mapping[str, Any] = {}
    if isinstance(told, Mapping):
        problem = cast("Mapping[str, Any]", told)
    kind = _BY_CODE.get(str(problem.get("code"))) or _BY_STATUS.get(status)
    return (kind or (Unavailable if status >= _BROKEN else ApiError))(status, problem)
