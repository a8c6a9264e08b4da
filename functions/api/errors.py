"""Errors as RFC 9457 problems: the only place that knows which error is which HTTP status."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NotRequired

from aws_lambda_powertools.event_handler import Response
from typing_extensions import TypedDict

from postdate.domain import errors

STATUS: Mapping[type[errors.PostdateError], HTTPStatus] = {
    errors.Malformed: HTTPStatus.BAD_REQUEST,
    errors.ValidationFailed: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.LimitExceeded: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.InvalidState: HTTPStatus.CONFLICT,
    errors.VersionMismatch: HTTPStatus.PRECONDITION_FAILED,
    errors.IdempotencyKeyMissing: HTTPStatus.BAD_REQUEST,
    errors.InsufficientFunds: HTTPStatus.CONFLICT,
    errors.AccountFrozen: HTTPStatus.CONFLICT,
    errors.BooksDisagree: HTTPStatus.CONFLICT,
    errors.MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    errors.IdempotencyKeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.IdempotencyInProgress: HTTPStatus.CONFLICT,
    errors.DestinationNotAllowed: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.PayloadTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.LoopRefused: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.QuotaExceeded: HTTPStatus.TOO_MANY_REQUESTS,
    errors.RateLimited: HTTPStatus.TOO_MANY_REQUESTS,
    errors.Conflict: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ReadOnly: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
_COMES_BACK = (errors.Conflict, errors.Unavailable)
# A problem may quote the caller. These bounds keep every answer short.
TOLD_MAX: Final = 20
FIELD_CHARACTERS_MAX: Final = 100
MESSAGE_CHARACTERS_MAX: Final = 300
DETAIL_CHARACTERS_MAX: Final = 500


class Problem(TypedDict):
    """`state` is told with `invalid_state`."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[dict[str, str]]
    state: NotRequired[str]


def problem(error: Exception, request_id: str) -> Problem:
    """The problem as JSON; an error that is not ours tells nothing of itself."""
    status = _status(error)
    known = isinstance(error, errors.PostdateError) and status is not HTTPStatus.INTERNAL_SERVER_ERROR
    # A dependency that fails has no code of its own: the caller can only ask again later.
    code = (
        "unavailable"
        if status is HTTPStatus.SERVICE_UNAVAILABLE and not isinstance(error, errors.ReadOnly)
        else error.code
        if isinstance(error, errors.PostdateError)
        else "internal"
    )
    told: Problem = {
        "type": f"/docs#{code}",
        "title": status.phrase,
        "status": status.value,
        "detail": _detail(error)
        if known and (code != "unavailable" or isinstance(error, errors.Stopped))
        else _DETAILS.get(code, _DETAILS["internal"]),
        "code": code,
        "request_id": request_id,
        "errors": [],
    }
    if isinstance(error, errors.ValidationFailed):
        told["errors"] = [
            {"field": _cut(field, FIELD_CHARACTERS_MAX), "message": _cut(message, MESSAGE_CHARACTERS_MAX)}
            for field, message in error.fields[:TOLD_MAX]
        ]
    if isinstance(error, errors.InvalidState):
        told["state"] = error.state
    return told


def answer(error: Exception, request_id: str) -> Response[str]:
    """The problem as an HTTP answer, with the headers that belong to its kind."""
    body = problem(error, request_id)
    headers: dict[str, str | list[str]] = {}
    if isinstance(error, _COMES_BACK):
        headers["Retry-After"] = "1"
    if isinstance(error, errors.QuotaExceeded):
        headers["Retry-After"] = "1"
        headers["RateLimit-Policy"] = f'"{error.quota}";q={error.most};w={error.window_seconds}'
        headers["RateLimit"] = f'"{error.quota}";r=0;t=1'
    if isinstance(error, errors.RateLimited):
        headers["Retry-After"] = str(error.retry_seconds)
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="postdate"'
    if isinstance(error, errors.MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    return Response(
        status_code=body["status"],
        content_type="application/problem+json",
        body=json.dumps(body),
        headers=headers,
    )


_DETAILS = {
    "internal": "An internal error occurred. Search the logs for the request id.",
    "unavailable": "A required service did not answer in time. Nothing is lost: send the request again.",
}


def _detail(error: Exception) -> str:
    """The error's text as a sentence. The text of a validation stays as it is, because it begins with the name of a
    field."""
    if not isinstance(error, errors.ValidationFailed):
        return _cut(_sentence(str(error)), DETAIL_CHARACTERS_MAX)
    untold = len(error.fields) - TOLD_MAX
    return _cut(str(error), DETAIL_CHARACTERS_MAX) + (f" (and {untold} more)" if untold > 0 else "")


def _sentence(text: str) -> str:
    end = "" if text.endswith((".", "!", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{end}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _status(error: Exception) -> HTTPStatus:
    for family in type(error).__mro__:
        if family in STATUS:
            return STATUS[family]
    return HTTPStatus.INTERNAL_SERVER_ERROR
