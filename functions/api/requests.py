"""The parts of a request that routes use, read in one way."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import patterns
from functions.api.admission import TENANT_HEADER
from functions.api.caller import Caller
from functions.api.wiring import wired
from postdate.domain.errors import (
    IdempotencyKeyMissing,
    LoopRefused,
    Malformed,
    PayloadTooLarge,
    ReadOnly,
    UnsupportedMediaType,
    ValidationFailed,
)
from postdate.domain.switch import API_WRITES
from postdate.domain.task import DEPTH_MAX

AnswerT = TypeVar("AnswerT", bound=Mapping[str, object])

BODY_BYTES_MAX: Final = 1024 * 1024
# An answer repeats what a batch gave and adds up to 2 KB an item: with this bound it fits into Lambda's 6 MB.
BATCH_BYTES_MAX: Final = 5 * 1024 * 1024
_VISIBLE = re.compile(patterns.IDEMPOTENCY_KEY)
_DEPTH = re.compile(r"[0-9]{1,3}")
_VERSION = re.compile(r'"([0-9]{1,9})(?:-[0-9a-f]{8})?"|([0-9]{1,9})')
# Lambda counts a body as a JSON string, in which each of these takes a byte more.
_LONGER_AS_JSON: Final = (b'"', b"\\", b"\n", b"\r", b"\t")
# The character that a gateway puts for bytes that are no UTF-8.
_REPLACED: Final = "\ufffd"


def caller(event: BaseProxyEvent, *scopes: str) -> Caller:
    """Returns the caller and the tenant. Raises Forbidden if the key has none of the scopes."""
    named, given = event.headers.get(TENANT_HEADER.lower()), wired()
    found = given.guards.admission.caller(event["requestContext"], _shown(event), named).needs_one(*scopes)
    given.author.name = found.actor
    return found


def begin() -> None:
    wired().guards.key_meter.told = None


def with_rate(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with what is left of the key's limit of requests, if it has one. An answer that tells a quota of the
    tenant tells both."""
    told = wired().guards.key_meter.told
    # The key has no limit, or no key was looked at.
    if told is None:
        return answer
    headers = answer["headers"]
    for name, value in told.headers().items():
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return answer


def operator(event: BaseProxyEvent) -> Caller:
    """An operator, for no tenant: one that the request names does not matter. Raises Forbidden for any other key."""
    given = wired()
    found = given.guards.admission.operator(event["requestContext"], _shown(event))
    given.author.name = found.actor
    return found


def check_writable() -> None:
    """Raises ReadOnly while an operator has switched off writes. If the switch cannot be read, its last position
    counts; without one, requests are served."""
    board = wired().guards.switchboard
    board.look([API_WRITES])
    if not board.last(API_WRITES).on:
        raise ReadOnly


def admit(event: BaseProxyEvent) -> None:
    """Raises Unauthenticated or Forbidden unless the request shows a good key: any tenant's, or an operator's."""
    wired().guards.admission.admit(event["requestContext"], _shown(event))


def token_ends_at(event: BaseProxyEvent) -> datetime | None:
    """The end of the issuer's token that the request shows; None for a key."""
    return wired().guards.admission.token_ends_at(_shown(event))


def _shown(event: BaseProxyEvent) -> str:
    return event.headers.get("authorization") or ""


def body(event: BaseProxyEvent, *, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The body of a request, empty if there is none. Nothing larger, and nothing but JSON in UTF-8, is parsed."""
    text = event.get("body") or ""
    if not text:
        return b""
    if not _is_json(event.headers.get("content-type") or ""):
        raise UnsupportedMediaType
    sent = text.encode(errors="surrogatepass")
    if len(sent) + sum(map(sent.count, _LONGER_AS_JSON)) > bytes_max:
        raise PayloadTooLarge(f"The body is larger than {bytes_max // 1024 // 1024} MB.")
    # The gateway encodes bodies that are no text for it.
    if event.get("isBase64Encoded"):
        return base64.b64decode(sent)
    if _REPLACED in text:
        raise Malformed("The body is not UTF-8, or contains U+FFFD, the replacement for invalid bytes.")
    return sent


def batch(event: BaseProxyEvent) -> bytes:
    """The body of a request that brings many items."""
    return body(event, bytes_max=BATCH_BYTES_MAX)


def _is_json(content_type: str) -> bool:
    kind, *parameters = (part.strip(" \t").lower() for part in content_type.split(";"))
    charsets = [
        part.removeprefix("charset=").strip('"') for part in parameters if part.startswith("charset=")
    ]
    return kind == "application/json" and set(charsets) <= {"utf-8"}


def idempotency_key(event: BaseProxyEvent) -> str | None:
    key = event.headers.get("idempotency-key")
    if key is not None and not _VISIBLE.fullmatch(key):
        raise ValidationFailed([("Idempotency-Key", patterns.WORDS[patterns.IDEMPOTENCY_KEY])])
    return key


def idempotency_key_needed(event: BaseProxyEvent) -> str:
    if not event.headers.get("idempotency-key"):
        raise IdempotencyKeyMissing
    return idempotency_key(event) or ""


def depth(event: BaseProxyEvent) -> int:
    """Returns the number of deliveries that led to this request, as its header says. Raises LoopRefused above the
    maximum."""
    text = event.headers.get("postdate-depth")
    if text is None:
        return 0
    if not _DEPTH.fullmatch(text):
        raise ValidationFailed([("Postdate-Depth", "is a number of at most three digits")])
    if int(text) > DEPTH_MAX:
        raise LoopRefused(f"{text} deliveries led to this request, each of which registered the next")
    return int(text)


def parameters(event: BaseProxyEvent) -> Mapping[str, str]:
    """Returns the parameters of the query."""
    return event.query_string_parameters or {}


def request_id(event: BaseProxyEvent) -> str:
    return str(event["requestContext"]["requestId"])


def version_wanted(event: BaseProxyEvent) -> int | None:
    """The version that If-Match names."""
    text = event.headers.get("if-match")
    if text is None or text == "*":
        return None
    if not (match := _VERSION.fullmatch(text)):
        raise ValidationFailed([("If-Match", "must be a version, such as an ETag of an answer")])
    return int(match[1] or match[2])


def item(
    content: AnswerT, *, status: int = 200, headers: dict[str, str] | None = None, derived: bool = False
) -> Response[AnswerT]:
    """An answer that is one item: its version is its ETag. A `derived` answer also tells what changes without the
    version of the item. Its ETag names its text too, so that If-None-Match finds the change."""
    tag = str(content["version"])
    if derived:
        tag += f"-{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]}"
    return Response(
        status_code=status,
        content_type="application/json",
        body=content,
        headers={"ETag": f'"{tag}"', **(headers or {})},
    )
