"""A request's bearer key -> who is calling: tenant and key, a key alone for an operator, or nobody.

The gateway asks for each key once a minute, and not at all for a request without one. The function never refuses: the
API answers for an unknown key itself, so that this refusal too is a problem with a code.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from functions.authorize.settings import Settings
from postdate.domain.errors import Unavailable
from postdate.runtime import aws, deadline, metric, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.observability import emit, logger, metrics
from postdate.stores.keys import ApiKey, DynamoKeys, shown

_CLOCK: Final = SystemClock()
# No call to AWS begins when less than this is left: the last one may take its whole time.
_KEPT_SECONDS: Final = aws.CALL_SECONDS + 1


class Wired:
    def __init__(self) -> None:
        table = settings.read(Settings).keys_table
        self.keys = DynamoKeys(table=table, client=aws.client("dynamodb"))


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
            key = _key(event.get("headers", {}).get("authorization", ""))
    except Unavailable:
        logger.exception("an API key could not be read", extra={"action": "key_not_read"})
        emit(metric.KEYS_NOT_READ)
        return _found({"tenant": "", "key_id": "", "unavailable": "true"})
    emit(metric.KEYS_ACCEPTED if key else metric.KEYS_REFUSED)
    return _found({"tenant": key.tenant or "", "key_id": key.id} if key else {"tenant": "", "key_id": ""})


def _key(authorization: str) -> ApiKey | None:
    return shown(authorization, lambda id: wired().keys.get(id), now=_CLOCK.now())


def _found(context: dict[str, str]) -> dict[str, Any]:
    return {"isAuthorized": True, "context": context}
