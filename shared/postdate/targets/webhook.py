"""Delivery by an HTTP request to an endpoint of the task's owner."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from postdate.domain.errors import DestinationNotAllowed, ValidationFailed
from postdate.domain.task import Destination
from postdate.targets.answer import Head, drain, exchange
from postdate.targets.base import Delivery, Failed, Receipt, Report, Untried, internal_error
from postdate.targets.connection import AnswerBroken, Connection, Unanswered
from postdate.targets.connections import Connections, ConnectTimedOut
from postdate.targets.guard import (
    RESOLVE_SECONDS_MAX,
    Endpoint,
    NameNotResolved,
    NameNotUsable,
    NameTimedOut,
    check_url,
    parse,
    with_addresses,
)
from postdate.targets.headers import check_headers
from postdate.targets.kind import Member, Parts, Shape, TargetKind
from postdate.targets.loop import BackgroundLoop
from postdate.targets.request import request
from postdate.targets.resolver import Question, Resolver
from postdate.targets.verdict import verdict

# The resolver's threads, of 32, that one tenant's names may take: names that hang leave the rest to other tenants.
_TENANT_RESOLVER_THREADS: Final = 4


class LookupQueued(Exception):
    """No thread has taken the look-up: the wait was ours, and the name may be a good one."""


class WebhookTarget:
    """Sends webhooks, all side by side in one loop. The caller bounds how many are on their way.

    `endpoint` is `guard.parse` with its settings. A name waits at most `queued_seconds` for a thread of the resolver,
    and its look-up takes at most `name_seconds` of the delivery's time.
    """

    def __init__(
        self,
        *,
        endpoint: Callable[[str], Endpoint],
        resolver: Resolver,
        connections: Connections,
        loop: BackgroundLoop,
        now: Callable[[], datetime],
        queued_seconds: float = RESOLVE_SECONDS_MAX,
        name_seconds: float = RESOLVE_SECONDS_MAX,
        drain_seconds: float = 1.0,
    ) -> None:
        self._endpoint = endpoint
        self._resolver = resolver
        self._connections = connections
        self._loop = loop
        self._now = now
        self._queued_seconds = queued_seconds
        self._name_seconds = name_seconds
        self._drain_seconds = drain_seconds

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        self._loop.start(self._reported(delivery, report) for delivery in deliveries)

    def close(self) -> None:
        self._loop.close(release=self._connections.close)

    async def _reported(self, delivery: Delivery, report: Report) -> None:
        """Reports as soon as the head of the answer is there: the body only decides about the connection."""
        # The outcome is reported before the body is read: the run must not wait for the rest of an answer.
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
            endpoint = self._endpoint(delivery.destination.address)
            question = None if endpoint.addresses else await self._asked(endpoint.host, delivery.tenant)
            ends = asyncio.get_running_loop().time() + delivery.timeout_seconds
            if question is not None:
                endpoint = with_addresses(endpoint, await self._looked_up(question, ends))
            async with asyncio.timeout_at(ends):
                answered = await self._answered(endpoint, request(delivery, endpoint, at=self._now()))
        except LookupQueued:
            return Untried(reason="its name was not looked up in time", is_queued=True), None
        except NameNotResolved as unknown:
            return Failed(reason=f"dns failure: {unknown}", down=True), None
        except DestinationNotAllowed as refused:
            retry = isinstance(refused, NameNotUsable)
            return Failed(
                reason=f"destination not allowed: {refused}", retry=retry, down=retry, heard=retry
            ), None
        except ValidationFailed:
            return Failed(reason="header not allowed", retry=False, heard=False), None
        except (OSError, AnswerBroken) as error:
            return Failed(reason=_reason(error), down=True), None
        return verdict(answered[1], now=self._now()), answered

    async def _asked(self, host: str, tenant: str) -> Question:
        """The look-up, once a thread has it. The wait for a thread is not the delivery's time."""
        question = self._resolver.ask(host, tenant=tenant)
        if not question.started.done():
            try:
                await asyncio.wait_for(asyncio.wrap_future(question.started), self._queued_seconds)
            except TimeoutError:
                raise LookupQueued from None
        return question

    async def _looked_up(self, question: Question, ends: float) -> tuple[str, ...]:
        late = asyncio.get_running_loop().time() + self._name_seconds
        try:
            async with asyncio.timeout_at(min(late, ends)):
                return await asyncio.wrap_future(question.answer)
        except TimeoutError as error:
            raise NameTimedOut from error
        except (OSError, ValueError) as error:
            raise NameNotResolved from error

    async def _answered(self, endpoint: Endpoint, request: bytes) -> tuple[Connection, Head]:
        """Sends a request on a kept connection, else on a new one; on a new one too if the kept one turns out to have
        ended.

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
            reusable = await drain(connection, head, wait_seconds=self._drain_seconds)
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


def _made(parts: Parts) -> WebhookTarget:
    return WebhookTarget(
        endpoint=lambda url: parse(url, parts.loopback_allowed),
        resolver=Resolver(tenant_threads=_TENANT_RESOLVER_THREADS),
        connections=Connections(ssl.create_default_context()),
        loop=BackgroundLoop(),
        now=parts.now,
    )


def _check(destination: Destination, loopback_allowed: bool) -> None:
    check_headers(destination.headers)
    check_url(destination.address, loopback_allowed=loopback_allowed)


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].lower()


WEBHOOK: Final = TargetKind(
    name="webhook",
    title="Webhook",
    members=(
        Member(
            name="url",
            of="address",
            meaning="https, a public host name. Redirects are not followed. It is checked now and at every attempt.",
        ),
        Member(
            name="method",
            of="method",
            meaning="The method of the request.",
            words=("POST", "PUT", "PATCH"),
        ),
        Member(
            name="headers",
            of="headers",
            meaning="Up to 20 headers of yours, 4096 bytes in all; not those that Postdate sets. Answers show "
            "hashes of their values.",
            shape=Shape.PAIRS,
        ),
    ),
    check=_check,
    circuit=_host,
    make=_made,
)
