"""What a route needs to know of a request, read once and in one way."""

import base64
import re
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api.caller import Caller
from postdate.domain.errors import IdempotencyKeyMissing, ValidationFailed

_VISIBLE = re.compile(r"[\x21-\x7e]{1,255}")
_VERSION = re.compile(r'"?(\d{1,9})"?')


def caller(event: BaseProxyEvent, scope: str) -> Caller:
    return Caller.of(event["requestContext"]).needs(scope)


def body(event: BaseProxyEvent) -> bytes:
    text = event.get("body") or ""
    return base64.b64decode(text) if event.get("isBase64Encoded") else text.encode()


def idempotency_key(event: BaseProxyEvent) -> str | None:
    key = event.headers.get("idempotency-key")
    if key is not None and not _VISIBLE.fullmatch(key):
        raise ValidationFailed([("Idempotency-Key", "has 1 to 255 visible ASCII characters")])
    return key


def idempotency_key_needed(event: BaseProxyEvent) -> str:
    if not event.headers.get("idempotency-key"):
        raise IdempotencyKeyMissing
    return idempotency_key(event) or ""


def parameters(event: BaseProxyEvent) -> Mapping[str, str]:
    """Of the query."""
    return event.query_string_parameters or {}


def request_id(event: BaseProxyEvent) -> str:
    return str(event["requestContext"]["requestId"])


def version_wanted(event: BaseProxyEvent) -> int | None:
    """The version that If-Match names."""
    text = event.headers.get("if-match")
    if text is None or text == "*":
        return None
    if not (match := _VERSION.fullmatch(text)):
        raise ValidationFailed([("If-Match", "is a version, such as an ETag of ours")])
    return int(match[1])


def item(
    content: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None
) -> Response[Any]:
    """An answer that is one item: its version is its ETag."""
    return Response(
        status_code=status,
        content_type="application/json",
        body=content,
        headers={"ETag": f'"{content["version"]}"', **(headers or {})},
    )
