"""An HTTP request -> the answer. One resolver, a module a resource."""

import json
import time
from functools import partial
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from functions.api import audit, errors, methods, pages, requests, timing
from functions.api.accounts import money_routes as money
from functions.api.accounts import routes as accounts
from functions.api.admission import TENANT_HEADER
from functions.api.jobs import routes as jobs
from functions.api.limits import routes as limits
from functions.api.operations import routes as operations
from functions.api.payments import routes as payments
from functions.api.runs import routes as runs
from functions.api.tasks import recurring_routes as recurring
from functions.api.tasks import routes as tasks
from postdate.domain.errors import MethodNotAllowed, NotFound, PostdateError
from postdate.runtime import aws, deadline, metric
from postdate.runtime.observability import emit, logger, metrics, note

# No call to AWS begins when less than this is left: the last one may take its whole time, then the answer is made. The
# gateway has counted a cold start as well.
_KEPT_SECONDS: Final = aws.CALL_SECONDS + 4
_TENANT_CHARACTERS_NOTED: Final = 100
_REFUSED: Final = 400
# An escaped character takes up to three times as many bytes as itself, and an answer has 6 MB.
app = APIGatewayHttpResolver(serializer=partial(json.dumps, ensure_ascii=False, separators=(",", ":")))
app.include_router(tasks.router)
app.include_router(recurring.router)
app.include_router(runs.RUNS.router)
app.include_router(operations.router)
app.include_router(limits.router)
app.include_router(jobs.router)
app.include_router(payments.PAYMENTS.router)
app.include_router(accounts.ACCOUNTS.router)
app.include_router(money.MONEY.router)
app.include_router(audit.AUDIT.router)
app.include_router(pages.router)


@app.get("/health")
def health() -> dict[str, str]:
    return {"status": "ok"}


@app.exception_handler(PostdateError)
def refused(error: PostdateError) -> Response[str]:
    return _answer(error)


@app.not_found
def unknown_path(_: NotFoundError) -> Response[str]:
    """Whether a path exists is told only to those who may ask."""
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
    with deadline.of_this_process().within(
        lambda: context.get_remaining_time_in_millis() / 1000 - _KEPT_SECONDS
    ):
        answer = _resolved(event, context)
    request, status = event["requestContext"]["http"], answer["statusCode"]
    emit(metric.REQUESTS)
    if status < _REFUSED and (timed := timing.of(request["method"], request["path"])) is not None:
        emit(timed, (time.monotonic() - began) * 1000)
    _note(event, status)
    return answer


def _resolved(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The answer of the routes. HEAD is answered as GET, without the body."""
    if event["requestContext"]["http"]["method"] != "HEAD":
        return app.resolve(event, context)
    request = event["requestContext"]
    as_get = event | {"requestContext": request | {"http": request["http"] | {"method": "GET"}}}
    return app.resolve(as_get, context) | {"body": "", "isBase64Encoded": False}


def _note(event: dict[str, Any], status: int) -> None:
    """The line of metrics is the one line of every request, so it names the request. An operator's key has no tenant;
    then the one that the request names is noted."""
    request = event["requestContext"]
    note("request_id", request["requestId"])
    caller = (request.get("authorizer") or {}).get("lambda") or {}
    named = event.get("headers", {}).get(TENANT_HEADER.lower(), "") if caller.get("key_id") else ""
    note("tenant", caller.get("tenant") or named[:_TENANT_CHARACTERS_NOTED])
    note("key_id", caller.get("key_id", ""))
    note("method", request["http"]["method"])
    note("path", request["http"]["path"])
    note("status", status)


def _answer(error: Exception) -> Response[str]:
    return errors.answer(error, app.current_event["requestContext"]["requestId"])
