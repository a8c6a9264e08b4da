"""An HTTP request -> the answer. One resolver serves the routes of all resources."""

import base64
import hashlib
import json
import time
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from functions.api import errors, methods, requests, timing
from functions.api.admission import TENANT_HEADER
from functions.api.routers import ROUTERS
from functions.api.wiring import wired
from postdate.domain.errors import MethodNotAllowed, NotFound, PostdateError
from postdate.runtime import aws, deadline, dependencies, metric
from postdate.runtime.observability import emit, logger, metrics, note

# No call to AWS begins when less than this is left: the last one may take its whole time, then the answer is made. The
# gateway has counted a cold start as well.
_KEPT_SECONDS: Final = aws.CALL_SECONDS + 4
_TENANT_CHARACTERS_NOTED: Final = 100
_REFUSED: Final = 400
_OF_A_BODY: Final = frozenset({"Content-Encoding", "Content-Type"})
# An escaped character takes up to three times as many bytes as itself, and an answer has 6 MB.
app = APIGatewayHttpResolver(serializer=partial(json.dumps, ensure_ascii=False, separators=(",", ":")))
for router in ROUTERS:
    app.include_router(router)


@app.get("/health")
def health() -> dict[str, str]:
    return {"status": "ok"}


@app.exception_handler(PostdateError)
def refused(error: PostdateError) -> Response[str]:
    return _answer(error)


@app.not_found
def unknown_path(_: NotFoundError) -> Response[str]:
    """Answers 404 or 405. Only a caller with a valid key learns whether a path exists."""
    method, path = app.current_event.http_method, app.current_event.path
    try:
        requests.admit(app.current_event)
    except PostdateError as error:
        return _answer(error)
    allowed = methods.taken_by(path)
    if not allowed or method in allowed:
        return _answer(NotFound(f"there is no {path}"))
    return _answer(MethodNotAllowed(f"{path} supports {', '.join(allowed)}", allowed=allowed))


@app.exception_handler(Exception)
def broke(error: Exception) -> Response[str]:
    logger.exception("a request failed", extra={"action": "request_failed"})
    return _answer(error)


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    began = time.monotonic()
    logger.append_keys(request_id=event["requestContext"]["requestId"])
    with (
        deadline.of_this_process().within(
            lambda: context.get_remaining_time_in_millis() / 1000 - _KEPT_SECONDS
        ),
        dependencies.of_this_process().guarding(),
        wired().parameters.fresh(),
    ):
        requests.begin()
        answer = requests.with_rate(_resolved(event, context))
    wired().reporter.tell()
    request, status = event["requestContext"]["http"], answer["statusCode"]
    emit(metric.REQUESTS)
    if status < _REFUSED and (timed := timing.of(request["method"], request["path"])) is not None:
        emit(timed, (time.monotonic() - began) * 1000)
    _note(event, status)
    return answer


def _resolved(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The answer of the routes. HEAD is answered as GET, without the body."""
    if event["requestContext"]["http"]["method"] != "HEAD":
        return _unless_known(event, app.resolve(event, context))
    request = event["requestContext"]
    as_get = event | {"requestContext": request | {"http": request["http"] | {"method": "GET"}}}
    return _unless_known(as_get, app.resolve(as_get, context)) | {"body": "", "isBase64Encoded": False}


def _unless_known(event: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, or 304 without a body when a GET names the ETag that the answer has. A list's is of its text."""
    if event["requestContext"]["http"]["method"] != "GET" or answer["statusCode"] != HTTPStatus.OK:
        return answer
    headers = answer["headers"]
    if "ETag" not in headers:
        headers["ETag"] = f'W/"{hashlib.sha256(answer["body"].encode()).hexdigest()[:32]}"'
    known = (event.get("headers") or {}).get("if-none-match", "")
    if headers["ETag"] not in known.split(", "):
        return answer
    kept = {name: value for name, value in headers.items() if name not in _OF_A_BODY}
    return answer | {"statusCode": 304, "headers": kept, "body": "", "isBase64Encoded": False}


def _note(event: dict[str, Any], status: int) -> None:
    """Adds the fields of the request to the line of metrics, the only line that each request has. An operator's key has
    no tenant, so the tenant that the request names is noted. A person who has the body of a request finds its line by
    the hash; the log holds no content."""
    request = event["requestContext"]
    note("request_id", request["requestId"])
    note("parameters", wired().parameters.version)
    caller = (request.get("authorizer") or {}).get("lambda") or {}
    named = event.get("headers", {}).get(TENANT_HEADER.lower(), "") if caller.get("key_id") else ""
    note("tenant", caller.get("tenant") or named[:_TENANT_CHARACTERS_NOTED])
    note("key_id", caller.get("key_id", ""))
    note("method", request["http"]["method"])
    note("path", request["http"]["path"])
    note("status", status)
    if body := event.get("body"):
        sent = base64.b64decode(body) if event.get("isBase64Encoded") else body.encode(errors="replace")
        note("body_sha256", hashlib.sha256(sent).hexdigest())


def _answer(error: Exception) -> Response[str]:
    return errors.answer(error, app.current_event["requestContext"]["requestId"])
