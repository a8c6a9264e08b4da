"""Requests for asyncio, repeated after temporary failures, and lists page after page.

`python client/generate.py` writes `requests.py` from this file.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlencode

from postdate_client.errors import ConnectionFailed, DeadlineExceeded, PostdateError, error_of
from postdate_client.retry import Retry, asked_seconds, is_temporary
from postdate_client.transport import HttpTransport, Transport
from postdate_client.values import given, parsed, plain, text_of

_OK: Final = range(200, 300)
_Item = TypeVar("_Item", bound=Mapping[str, object])


class AsyncRequests:
    """Requests to the API that are sent again after temporary failures. A client adds the methods."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        tenant: str | None = None,
        retry: Retry = Retry(),  # noqa: B008 - it is frozen
        timeout_seconds: float = 10.0,
        deadline_seconds: float = 60.0,
        transport: Transport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._transport = transport or HttpTransport(url)
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        if tenant is not None:
            self._headers["Postdate-Tenant"] = tenant
        self._retry, self._timeout, self._deadline = retry, timeout_seconds, deadline_seconds
        self._clock, self._sleep, self._draw = clock, sleep, draw

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await asyncio.to_thread(self._transport.close)

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        version: int | None = None,
        repeatable: bool = False,
    ) -> Any:
        """The parsed answer of any route. `version` is for If-Match. Instants in the query and in the body are sent as
        text.

        The request is sent again after a temporary failure if that changes nothing: a GET, a request with an
        idempotency key, or one that the caller says is `repeatable`. The `wait_seconds` of a query, for which the API
        holds the request, come on top of the client's timeout and deadline.
        """
        repeatable = repeatable or method == "GET" or idempotency_key is not None
        headers = dict(self._headers)
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body, separators=(",", ":"), allow_nan=False, default=plain).encode()
        asked = {name: text_of(value) for name, value in given(query or {}).items()}
        if asked:
            path = f"{path}?{urlencode(asked)}"
        waits = asked.get("wait_seconds")
        held_seconds = max(waits, 0) if isinstance(waits, int | float) else 0
        try:
            return await self._sent(method, path, headers, content, repeatable, held_seconds)
        except PostdateError as error:
            error.idempotency_key = idempotency_key
            raise

    async def _sent(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        content: bytes | None,
        repeatable: bool,
        held_seconds: float,
    ) -> Any:
        timeout = self._timeout + held_seconds
        ends_at, attempt = self._clock() + self._deadline + held_seconds, 0
        while True:
            attempt += 1
            left = ends_at - self._clock()
            failure: Exception
            asked: float | None = None
            try:
                answer = await asyncio.to_thread(
                    self._transport.send, method, path, headers, content, min(timeout, max(left, 0.001))
                )
            except ConnectionFailed as error:
                failure = error
            else:
                told = parsed(answer)
                if answer.status in _OK:
                    return told
                refused = error_of(answer.status, told)
                if not is_temporary(answer.status, refused.code):
                    raise refused
                failure, asked = refused, asked_seconds(answer.headers.get("retry-after"), datetime.now(UTC))
            if not repeatable or attempt >= self._retry.attempts:
                raise failure
            pause = self._retry.pause(attempt, draw=self._draw(), asked=asked)
            if self._clock() + pause >= ends_at:
                raise DeadlineExceeded(f"{method} {path}: no time for another attempt") from failure
            await self._sleep(pause)

    async def _batch(self, path: str, things: str, items: Sequence[object]) -> list[Any]:
        """The results of a batch whose items have keys of their own. An error has the items in `sent`."""
        try:
            answer = await self.request("POST", path, {things: items}, repeatable=True)
        except PostdateError as error:
            error.sent = items
            raise
        return list(answer["results"])

    async def pages(
        self, path: str, things: str, *, query: Mapping[str, object] | None = None
    ) -> AsyncIterator[Any]:
        """The items of a list, page after page."""
        asked = dict(query or {})
        while True:
            page = await self.request("GET", path, query=asked)
            for item in page[things]:
                yield item
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]

    async def _ended(
        self,
        read: Callable[[str], Awaitable[_Item]],
        id: str,
        ends: frozenset[str],
        seconds: float,
        every_seconds: float,
        name: str = "status",
    ) -> _Item:
        ends_at = self._clock() + seconds
        while True:
            item = await read(id)
            if item[name] in ends:
                return item
            if self._clock() + every_seconds > ends_at:
                raise DeadlineExceeded(f"{id} is {item[name]} after {seconds:g} s")
            await self._sleep(every_seconds)

    async def rest(self) -> None:
        """Sleeps for the longest pause between two attempts."""
        await self._sleep(self._retry.max_seconds)
