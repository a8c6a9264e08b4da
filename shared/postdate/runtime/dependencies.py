"""Breakers of the services that this process depends on, fed by each call to AWS that it makes.

Within an event of `api`, `settle` or `run_tasks` each call is checked before it is built, and its answer is counted,
repeats included. A call to a dependency whose breaker is open raises Unavailable at once: nothing is sent. The rules
are those of postdate.domain.dependency.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from threading import Lock
from typing import Any, Final

from botocore.exceptions import BotoCoreError

from postdate.domain import dependency
from postdate.domain.dependency import CLOSED, OF_OTHERS, OF_TABLES, Health, Patience
from postdate.domain.errors import Unavailable
from postdate.runtime.clock import SystemClock

_READS: Final = "reads:"
_WRITES: Final = "writes:"
_READING: Final = frozenset({"BatchGetItem", "GetItem", "Query", "Scan"})
_WATCHED: Final = {"s3": "s3", "sts": "sts", "kms": "kms", "appconfigdata": "appconfig"}
_NOTED: Final = "postdate_dependencies"
_SERVER_ERROR: Final = 500
# The table of a PartiQL statement.
_STATEMENT: Final = re.compile(r'(?:FROM|INTO|UPDATE)\s+"([^"]+)"', re.IGNORECASE)
_THROTTLES: Final = frozenset(
    {
        *("ProvisionedThroughputExceeded", "RequestLimitExceeded", "Throttling", "ThrottlingError"),
        *("RequestThrottled", "TooManyRequests", "SlowDown", "InternalServerError", "InternalServer"),
        *("ServiceUnavailable", "InternalFailure"),
    }
)


def table(name: str) -> tuple[str, str]:
    """The names of a table as two dependencies: a table may throttle its writes and answer its reads."""
    return f"{_READS}{name}", f"{_WRITES}{name}"


class Dependencies:
    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._health: dict[str, Health] = {}
        self._guards = False
        self._turn = Lock()

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Switches the breakers on for one event of `api`, `settle` or `run_tasks`. Calls outside of such an event are
        neither counted nor stopped: the other functions keep the repeats of botocore. Blocks are not nested."""
        self._guards = True
        try:
            yield
        finally:
            self._guards = False

    def open_until(self, names: Iterable[str]) -> datetime | None:
        """The instant from which all of these may be tried; None if they may be now."""
        now = self._now()
        until = [health.open_until for name in names if (health := self._of(name)).is_open(now)]
        return max((each for each in until if each is not None), default=None)

    def known(self) -> dict[str, Health]:
        """Returns the present health of each dependency that failed at least once."""
        with self._turn:
            return dict(self._health)

    def forget(self) -> None:
        """Forgets all failures, as a new process would. Tests use it."""
        with self._turn:
            self._health.clear()

    def admit(self, names: Iterable[str]) -> None:
        """Raises Unavailable if the breaker of one of these is open."""
        # The usual case: nothing has failed, and nothing is locked.
        if not self._health or not self._guards:
            return
        now = self._now()
        with self._turn:
            for name in names:
                admitted, self._health[name] = dependency.admitted(
                    self._of(name), now=now, patience=_patience(name)
                )
                if not admitted:
                    raise Unavailable(f"the breaker of {name} is open: {self._of(name).error}")

    def heard(self, answers: Mapping[str, str | None]) -> None:
        """Notes for each dependency of a call the error that says that it fails, or None if it answered."""
        if not self._guards or not (self._health or any(answers.values())):
            return
        now = self._now()
        with self._turn:
            for name, error in answers.items():
                if error is not None:
                    self._health[name] = dependency.failed(
                        self._of(name), now=now, error=error, patience=_patience(name)
                    )
                elif name in self._health:
                    self._health[name] = CLOSED

    def _of(self, name: str) -> Health:
        return self._health.get(name, CLOSED)


_OF_THIS_PROCESS: Final = Dependencies(SystemClock().now)


def of_this_process() -> Dependencies:
    return _OF_THIS_PROCESS


def watch(client: Any) -> None:
    """Looks at each call of the client: one of DynamoDB, S3, STS, KMS or AppConfig."""
    service = client.meta.service_model.service_name
    if service != "dynamodb" and service not in _WATCHED:
        return
    events = client.meta.events
    events.register(f"before-parameter-build.{client.meta.service_model.service_id.hyphenize()}", _before)
    events.register(f"after-call.{client.meta.service_model.service_id.hyphenize()}", _after)
    events.register(f"after-call-error.{client.meta.service_model.service_id.hyphenize()}", _after_error)


def _before(params: Mapping[str, Any], model: Any, context: dict[str, Any], **_: object) -> None:
    service = model.service_model.service_name
    parts = [_WATCHED[service]] if service in _WATCHED else _tables(model.name, params)
    context[_NOTED] = parts
    of_this_process().admit(dict.fromkeys(parts))


def _after(parsed: Mapping[str, Any], context: Mapping[str, Any], **_: object) -> None:
    parts = context.get(_NOTED, [])
    if parts:
        of_this_process().heard(_answers(parts, parsed))


def _after_error(exception: Exception, context: Mapping[str, Any], **_: object) -> None:
    if isinstance(exception, BotoCoreError):
        of_this_process().heard(dict.fromkeys(context.get(_NOTED, []), type(exception).__name__))


def _tables(operation: str, params: Mapping[str, Any]) -> list[str]:
    """The dependency of each part of a call to DynamoDB, in the order of its parts."""
    way = _READS if operation in _READING else _WRITES
    if "TableName" in params:
        return [way + params["TableName"]]
    if "RequestItems" in params:
        return [way + name for name in params["RequestItems"]]
    if "TransactItems" in params:
        return [way + next(iter(each.values()))["TableName"] for each in params["TransactItems"]]
    statements = params.get("Statements") or params.get("TransactStatements") or [params]
    return [part for each in statements if (part := _of_statement(each.get("Statement", "")))]


def _of_statement(text: str) -> str | None:
    found = _STATEMENT.search(text)
    if found is None:
        return None
    # A statement without SELECT writes.
    return (_READS if text.lstrip().upper().startswith("SELECT") else _WRITES) + found[1]


def _answers(parts: list[str], parsed: Mapping[str, Any]) -> dict[str, str | None]:
    """The error of each dependency that failed in all of its parts, and None for one of which a part was answered."""
    codes = _codes(parts, parsed)
    answers: dict[str, str | None] = {}
    for name, code in zip(parts, codes, strict=False):
        error = code if code is not None and _says_failing(code) else None
        answers[name] = error if answers.get(name, error) is not None else None
    return answers


def _codes(parts: list[str], parsed: Mapping[str, Any]) -> list[str | None]:
    if "Error" in parsed:
        # Each action of a transaction has its own reason, so only the table that throttles counts.
        if reasons := parsed.get("CancellationReasons"):
            return [each.get("Code") for each in reasons]
        status = parsed.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = str(parsed["Error"].get("Code", ""))
        return [f"{_SERVER_ERROR}" if status >= _SERVER_ERROR and not code else code] * len(parts)
    unread = parsed.get("UnprocessedKeys") or parsed.get("UnprocessedItems") or {}
    # A table that answered a part of its keys works: it only left out the rest.
    if unread:
        answered = parsed.get("Responses", {})
        left = {part for name in unread if not answered.get(name) for part in table(name)}
        return ["Throttling" if name in left else None for name in parts]
    if isinstance(responses := parsed.get("Responses"), list):
        return [each.get("Error", {}).get("Code") if "Error" in each else None for each in responses]
    return [None] * len(parts)


def _says_failing(code: str) -> bool:
    return code.removesuffix("Exception") in _THROTTLES or code.startswith("5")


def _patience(name: str) -> Patience:
    return OF_TABLES if name.startswith((_READS, _WRITES)) else OF_OTHERS
