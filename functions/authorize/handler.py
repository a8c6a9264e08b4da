"""A request's bearer key or token -> who is calling: tenant and key, a key alone for an operator, or nobody.

The gateway asks for each key about once a minute, and not at all for a request without one. The function never refuses:
the API answers for an unknown key itself, so that this refusal too is a problem with a code. It notes when a key was
used: here the note costs a write a minute and key, and no request of the API waits for it.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import cache, partial
from typing import Any, Final

from functions.authorize.settings import Settings
from postdate.domain.errors import Unavailable
from postdate.runtime import aws, deadline, metric, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.documents import fetch_document
from postdate.runtime.issuer import Person, person_by, token_of
from postdate.runtime.observability import emit, logger, metrics
from postdate.stores.api_key import ApiKey
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.key_text import accepted_key, parts_of
from postdate.stores.keys_dynamo import DynamoKeys

_CLOCK: Final = SystemClock()
# No call to AWS begins when less than this is left: the last one may take its whole time.
_KEPT_SECONDS: Final = aws.CALL_SECONDS + 1
# A key that several nodes of the gateway ask for is not written for each of them.
_NOTED_ANEW: Final = timedelta(seconds=5)


class Wired:
    def __init__(self) -> None:
        given, dynamodb = settings.read(Settings), aws.client("dynamodb")
        self.person = person_by(given.oidc, fetch=fetch_document, clock=_CLOCK)
        self.keys = DynamoKeys(table=given.keys_table, client=dynamodb)
        self.hashes = KeyHashes(
            KmsDataKeys(
                table=given.data_keys_table,
                client=dynamodb,
                kms=partial(aws.client, "kms"),
                key_id=given.secrets_key_id,
            )
        )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    try:
        with deadline.of_this_process().within(
            lambda: context.get_remaining_time_in_millis() / 1000 - _KEPT_SECONDS
        ):
            shows = event.get("headers", {}).get("authorization", "")
            token = token_of(shows)
            found = _key(shows) if token is None else wired().person(token)
            _note_use(found)
    except Unavailable:
        logger.exception("an API key could not be read", extra={"action": "key_not_read"})
        emit(metric.KEYS_NOT_READ)
        # With this mark the API looks at the key itself, and does not take it for an unknown one.
        return _found({"tenant": "", "key_id": "", "unavailable": "true"})
    emit(metric.KEYS_NOT_READ, 0)
    emit(metric.KEYS_ACCEPTED if found else metric.KEYS_REFUSED)
    return _found(
        {"tenant": found.tenant or "", "key_id": found.id} if found else {"tenant": "", "key_id": ""}
    )


def _key(authorization: str) -> ApiKey | None:
    if parts_of(authorization) is None:
        return None
    found = accepted_key(authorization, wired().keys.get, now=_CLOCK.now(), hashes=wired().hashes)
    return None if found is None else found.key


def _note_use(key: ApiKey | Person | None) -> None:
    """Notes the use of a key, at most once in a while. A failed note refuses no request. Tokens are left out, because
    their issuer notes their use. The gateway remembers an answer for 55 seconds, so a noted use is at most a minute
    old."""
    now = _CLOCK.now()
    if not isinstance(key, ApiKey) or (key.last_used_at is not None and now - key.last_used_at < _NOTED_ANEW):
        return
    try:
        wired().keys.use(key.id, at=now, unless_since=now - _NOTED_ANEW)
    except Exception:
        # Whatever it is, a key that was read is good: the note is no reason to refuse it.
        logger.exception("the use of a key was not noted", extra={"action": "use_not_noted"})


def _found(context: dict[str, str]) -> dict[str, Any]:
    return {"isAuthorized": True, "context": context}
