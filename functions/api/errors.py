"""Errors as RFC 9457 problems: the only place that knows which error is which HTTP status."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response
from pydantic import ValidationError

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
    errors.IdempotencyKeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.IdempotencyInProgress: HTTPStatus.CONFLICT,
    errors.DestinationNotAllowed: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.PayloadTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.Conflict: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
_COMES_BACK = (errors.Conflict, errors.Unavailable)


def problem(error: Exception, request_id: str) -> dict[str, Any]:
    """The problem as JSON; an error that is not ours tells nothing of itself."""
    status = _status(error)
    known = isinstance(error, errors.PostdateError) and status is not HTTPStatus.INTERNAL_SERVER_ERROR
    code = (
        "unavailable"
        if status is HTTPStatus.SERVICE_UNAVAILABLE
        else error.code
        if isinstance(error, errors.PostdateError)
        else "internal"
    )
    told: dict[str, Any] = {
        "type": f"/docs#{code}",
        "title": status.phrase,
        "status": status.value,
        "detail": str(error) if known and code != "unavailable" else _DETAILS.get(code, _DETAILS["internal"]),
        "code": code,
        "request_id": request_id,
        "errors": [],
    }
    if isinstance(error, errors.ValidationFailed):
        told["errors"] = [{"field": field, "message": message} for field, message in error.fields]
    if isinstance(error, errors.InvalidState):
        told["state"] = error.state
    return told


def answer(error: Exception, request_id: str) -> Response[str]:
    body = problem(error, request_id)
    headers: dict[str, str | list[str]] = {}
    if isinstance(error, _COMES_BACK):
        headers["Retry-After"] = "1"
    if isinstance(error, errors.Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="postdate"'
    return Response(
        status_code=body["status"],
        content_type="application/problem+json",
        body=json.dumps(body),
        headers=headers,
    )


def validation_failed(error: ValidationError, within: str = "") -> errors.ValidationFailed:
    """Pydantic's findings in our words: one line a field, named as the caller wrote it."""
    fields = []
    for finding in error.errors(include_url=False, include_context=False, include_input=False):
        path = [str(step) for step in finding["loc"] if step not in ("webhook", "sqs", "eventbridge")]
        message = (
            "is not a known field"
            if finding["type"] == "extra_forbidden"
            else finding["msg"].removeprefix("Value error, ")
        )
        fields.append((".".join([*([within] if within else []), *path]) or "body", message))
    return errors.ValidationFailed(fields)


_DETAILS = {
    "internal": "Something went wrong on our side. The request id finds it in our logs.",
    "unavailable": "A service that this needs did not answer in time. Nothing is lost: send the request again.",
}


def _status(error: Exception) -> HTTPStatus:
    for family in type(error).__mro__:
        if family in STATUS:
            return STATUS[family]
    return HTTPStatus.INTERNAL_SERVER_ERROR
