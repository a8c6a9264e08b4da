"""The parameters as one copy of a function knows them.

A copy asks for them after an event, when its reading is older than 20 seconds: the answer delays no item. Only a copy
that is new or was idle asks before its event. So a busy copy uses a reading of at most 20 seconds and one event, an
idle one of at most 40 seconds. A document that cannot be read or used changes nothing: the last good one counts.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final, Protocol

from postdate.domain.described import DocumentInvalid
from postdate.domain.errors import Unavailable
from postdate.domain.parameters import DEFAULTS, Parameters, read
from postdate.runtime import aws
from postdate.runtime.appconfig import AppConfig
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger

NONE: Final = "none"
READ_EVERY: Final = timedelta(seconds=20)
STALE_AFTER: Final = timedelta(seconds=40)
_VERSION_CHARACTERS: Final = 12


class Source(Protocol):
    def changed(self) -> bytes | None:
        """The document if it changed since the last question. Raises Unavailable."""


class CurrentParameters:
    def __init__(self, source: Source | None, *, clock: Clock) -> None:
        """Begins with the defaults; without a `source` they stay."""
        self._source = source
        self._clock = clock
        self._asked_at: datetime | None = None
        self.values: Parameters = DEFAULTS
        # Beginning of the hash of the document; empty for the defaults.
        self.version = ""

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Surrounds one event. Asks for the parameters before it if they are older than STALE_AFTER, and after it if
        they are older than READ_EVERY."""
        if self._is_older_than(STALE_AFTER):
            self._ask()
        try:
            yield
        finally:
            if self._is_older_than(READ_EVERY):
                self._ask()

    def _is_older_than(self, span: timedelta) -> bool:
        """Also true after the clock was set back: then the age is unknown."""
        now = self._clock.now()
        return self._asked_at is None or not self._asked_at <= now < self._asked_at + span

    def _ask(self) -> None:
        if self._source is None:
            return
        self._asked_at = self._clock.now()
        try:
            content = self._source.changed()
            # The document is the one that is known.
            if content is None:
                return
            self.values = read(json.loads(content))
        except (Unavailable, ValueError) as error:
            reason = str(error) if isinstance(error, Unavailable | DocumentInvalid) else "not JSON"
            logger.warning(
                "parameters could not be read", extra={"action": "parameters_unread", "reason": reason}
            )
            return
        self.version = hashlib.sha256(content).hexdigest()[:_VERSION_CHARACTERS]
        logger.info("parameters changed", extra={"action": "parameters_changed", "parameters": self.version})


def parameters_at(path: str, *, clock: Clock) -> CurrentParameters:
    """The parameters of the setting `PARAMETERS`: a profile of AppConfig, or `none` for the defaults."""
    source = None if path == NONE else AppConfig(path, client=aws.quick_client("appconfigdata"))
    return CurrentParameters(source, clock=clock)
