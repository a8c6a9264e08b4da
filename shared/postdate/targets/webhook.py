"""Delivery by an HTTP request to an endpoint of the task's owner."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from postdate.domain.errors import DestinationNotAllowed, ValidationFailed
from postdate.targets.answer import Head, drained, exchange
from postdate.targets.base import Delivery, Failed, Receipt, Report, internal_error
from postdate.targets.connection import AnswerBroken, Connection, Unanswered
from postdate.targets.connections import Connections, ConnectTimedOut
from postdate.targets.guard import RESOLVE_SECONDS_MAX, Endpoint, NameNotUsable, NameTimedOut
from postdate.targets.loop import BackgroundLoop
from postdate.targets.request import request
from postdate.targets.verdict import verdict

_NAME_PAUSE_SECONDS: Final = 0.005


class WebhookTarget:
    """All deliveries side by side in one loop; `at_once` bounds the sockets.

    `check` is `guard.check_url` with its settings; its second argument is `wait_seconds`, 0 here: a loop never waits.
    """

    def __init__(
        self,
        *,
        check: Callable[[str, float], Endpoint],
        connections: Connections,
        loop: BackgroundLoop,
        now: Callable[[], datetime],
        at_once: int = 250,
        name_seconds: float = RESOLVE_SECONDS_MAX,
        drain_seconds: float = 1.0,
    ) -> None:
        self._check = check
        self._connections = connections
        self._loop = loop
        self._now = now
        self._free = asyncio.Semaphore(at_once)
        self._name_seconds = name_seconds
        self._drain_seconds = drain_seconds

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        self._loop.start(self._reported(delivery, report) for delivery in deliveries)

    def close(self) -> None:
        self._loop.close(release=self._connections.close)

    async def _reported(self, delivery: Delivery, report: Report) -> None:
        """Reports as soon as the head of the answer is there: the body only decides about the connection."""
        async with self._free:
            answered = None
            try:
                receipt, answered = await self._attempted(delivery)
            except Exception as error:
                receipt = internal_error(error)
            report(delivery, receipt)
            if answered:
                await self._released(*answered)

    async def _attempted(self, delivery: Delivery) -> tuple[Receipt, tuple[Connection, Head] | None]:
        try:
            async with asyncio.timeout(delivery.timeout_seconds):
                endpoint = await self._checked(delivery.destination.address)
                answered = await self._answered(endpoint, request(delivery, endpoint, at=self._now()))
        except DestinationNotAllowed as refused:
            retry = isinstance(refused, NameNotUsable)
            return Failed(reason=f"destination not allowed: {refused}", retry=retry, down=retry), None
        except ValidationFailed:
            return Failed(reason="header not allowed", retry=False), None
        except (OSError, AnswerBroken) as error:
            return Failed(reason=_reason(error), down=True), None
        return verdict(answered[1], now=self._now()), answered

    async def _checked(self, url: str) -> Endpoint:
        """The check of the registration, repeated until the resolver has answered, so that no thread waits for it."""
        clock = asyncio.get_running_loop().time
        ends = clock() + self._name_seconds
        while True:
            try:
                return self._check(url, 0)
            except NameTimedOut:
                if clock() > ends:
                    raise
            await asyncio.sleep(_NAME_PAUSE_SECONDS)

    async def _answered(self, endpoint: Endpoint, request: bytes) -> tuple[Connection, Head]:
        """On a kept connection, else on a new one; on a new one too if the kept one turns out to have ended.

        The receiver may then see one attempt twice, with the same key and token, as after any lost answer.
        """
        if kept := self._connections.kept(endpoint):
            try:
                return await _exchanged(kept, request)
            except Unanswered:
                pass
        return await _exchanged(await self._connections.opened(endpoint), request)

    async def _released(self, connection: Connection, head: Head) -> None:
        reusable = False
        try:
            reusable = await drained(connection, head, wait_seconds=self._drain_seconds)
        finally:
            if reusable:
                self._connections.keep(connection)
            else:
                connection.abort()


async def _exchanged(connection: Connection, request: bytes) -> tuple[Connection, Head]:
    try:
        return connection, await exchange(connection, request)
    except BaseException:
        connection.abort()
        raise


_REASONS: Final[tuple[tuple[type[OSError], str], ...]] = (
    (ConnectTimedOut, "connect timed out"),
    (TimeoutError, "timed out"),
    (ssl.SSLCertVerificationError, "certificate not valid for the host"),
    (ssl.SSLError, "tls failed"),
    (ConnectionRefusedError, "connection refused"),
    (ConnectionError, "connection closed before an answer"),
)


def _reason(error: OSError | AnswerBroken) -> str:
    if isinstance(error, AnswerBroken):
        return str(error)
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "connection failed")
