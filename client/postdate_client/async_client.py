"""The client for asyncio. `client.py` is generated from this file: `python client/generate.py`."""

import asyncio
import json
import random
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

from postdate_client.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    RateLimited,
    Unavailable,
    error_of,
)
from postdate_client.events import Followed
from postdate_client.retry import Retry, asked_seconds, is_temporary
from postdate_client.transport import Answer, HttpTransport, Transport

_PAYMENT_ENDS: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED"})
_TASK_ENDS: Final = frozenset({"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "FINISHED"})
_OPERATION_ENDS: Final = frozenset({"PLANNED", "DONE", "STOPPED", "ABORTED"})
_OK: Final = range(200, 300)
_FOLLOWED_AT_ONCE: Final = 100
_WAIT_SECONDS: Final = 20


class AsyncClient:
    """One tenant's client. `deadline_seconds` bounds a request with all its retries, `timeout_seconds` one attempt.

    A request that registers or moves money carries an idempotency key: the one given, or a new one. All attempts of the
    request carry the same, so a lost answer neither loses nor doubles anything. To be safe across a crash of the caller
    as well, give a key of your own, such as the id of the order.
    """

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
        self.events = AsyncEvents(self)

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
        """The parsed answer of any route. `version` is for If-Match.

        The request is sent again after a temporary failure if that changes nothing: a GET, a request with an
        idempotency key, or one that the caller says is `repeatable`.
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
            content = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        if asked:
            path = f"{path}?{urlencode(asked)}"
        return await self._sent(method, path, headers, content, repeatable)

    async def _sent(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes | None, repeatable: bool
    ) -> Any:
        ends_at, attempt = self._clock() + self._deadline, 0
        while True:
            attempt += 1
            left = ends_at - self._clock()
            failure: Exception
            asked: float | None = None
            try:
                answer = await asyncio.to_thread(
                    self._transport.send, method, path, headers, content, min(self._timeout, max(left, 0.001))
                )
            except ConnectionFailed as error:
                failure = error
            else:
                told = _parsed(answer)
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

    async def pages(
        self, path: str, things: str, *, query: Mapping[str, object] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """The items of a list, page after page."""
        asked = dict(query or {})
        while True:
            page = await self.request("GET", path, query=asked)
            for item in page[things]:
                yield item
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]

    async def whoami(self) -> dict[str, Any]:
        """Tenant, scopes and accounts of the key."""
        return dict(await self.request("GET", "/api/v1/whoami"))

    async def schedule_payment(
        self,
        *,
        from_account_id: str,
        to_account_id: str,
        amount: int,
        delay_seconds: int | None = None,
        scheduled_time: datetime | None = None,
        funding: str | None = None,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Schedules a payment; one of `delay_seconds` and `scheduled_time` says when."""
        body = _given(
            from_account_id=from_account_id,
            to_account_id=to_account_id,
            amount=amount,
            delay_seconds=delay_seconds,
            scheduled_time=_text(scheduled_time),
            funding=funding,
            description=description,
            metadata=None if metadata is None else dict(metadata),
        )
        key = idempotency_key or _new_key()
        return dict(await self.request("POST", "/api/v1/payments/schedule", body, idempotency_key=key))

    async def payment(self, payment_id: str) -> dict[str, Any]:
        return dict(await self.request("GET", _path("payments", payment_id)))

    def payments(self, **query: object) -> AsyncIterator[dict[str, Any]]:
        """All payments that fit: `account_id`, `status`, `until`, `order`, `limit` (of a page)."""
        return self.pages("/api/v1/payments", "payments", query=query)

    async def change_payment(
        self, payment_id: str, *, version: int | None = None, **changes: object
    ) -> dict[str, Any]:
        """Changes `scheduled_time`, `amount`, `description` or `metadata` while the payment is PENDING.

        A change with a `version` is sent once: after a lost answer the version tells whether it was made.
        """
        body = {name: _text(value) for name, value in changes.items()}
        return dict(
            await self.request(
                "PATCH", _path("payments", payment_id), body, version=version, repeatable=version is None
            )
        )

    async def cancel_payment(self, payment_id: str) -> dict[str, Any]:
        """Cancels a payment. Cancelling it again is no error."""
        path = f"{_path('payments', payment_id)}/cancel"
        return dict(await self.request("POST", path, repeatable=True))

    async def register_task(
        self, *, target: Mapping[str, Any], idempotency_key: str | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Registers a task; one of `run_at`, `delay_seconds` and `cron` says when."""
        body = {"target": dict(target)} | {name: _text(value) for name, value in fields.items()}
        key = idempotency_key or _new_key()
        return dict(await self.request("POST", "/api/v1/tasks", body, idempotency_key=key))

    async def task(self, task_id: str) -> dict[str, Any]:
        return dict(await self.request("GET", _path("tasks", task_id)))

    def tasks(self, **query: object) -> AsyncIterator[dict[str, Any]]:
        """All tasks that fit: `status`, `name`, `tag`, `limit` (of a page)."""
        return self.pages("/api/v1/tasks", "tasks", query=query)

    async def cancel_task(self, task_id: str) -> dict[str, Any]:
        """Cancels a task. Cancelling it again is no error."""
        return dict(await self.request("DELETE", _path("tasks", task_id), repeatable=True))

    async def trigger_task(self, task_id: str, *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Runs a recurring task now. The plan stays as it is."""
        path = f"{_path('tasks', task_id)}/trigger"
        return dict(await self.request("POST", path, idempotency_key=idempotency_key or _new_key()))

    async def preview(self, cron: str, *, timezone: str = "UTC", count: int = 10) -> list[dict[str, Any]]:
        """The next instants of a cron, with notes on changes of clocks."""
        body = {"cron": cron, "timezone": timezone, "count": count}
        answer = await self.request("POST", "/api/v1/tasks/preview", body, repeatable=True)
        return list(answer["next"])

    async def account(self, account_id: str) -> dict[str, Any]:
        return dict(await self.request("GET", _path("accounts", account_id)))

    def accounts(self, **query: object) -> AsyncIterator[dict[str, Any]]:
        return self.pages("/api/v1/accounts", "accounts", query=query)

    def transactions(self, account_id: str, **query: object) -> AsyncIterator[dict[str, Any]]:
        """The journal of an account, in the order in which it was written."""
        return self.pages(f"{_path('accounts', account_id)}/transactions", "transactions", query=query)

    async def wait_for_payment(
        self, payment_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> dict[str, Any]:
        """The payment once it is COMPLETED, FAILED or CANCELLED. Raises DeadlineExceeded."""
        return await self._ended(self.payment, payment_id, _PAYMENT_ENDS, seconds, every_seconds)

    async def wait_for_task(
        self, task_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> dict[str, Any]:
        """The task once it has ended. Raises DeadlineExceeded."""
        return await self._ended(self.task, task_id, _TASK_ENDS, seconds, every_seconds)

    async def operation(self, operation_id: str) -> dict[str, Any]:
        return dict(await self.request("GET", _path("operations", operation_id)))

    async def wait_for_operation(
        self, operation_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> dict[str, Any]:
        """The operation once it runs no longer: DONE, STOPPED, ABORTED, or never started. Raises DeadlineExceeded."""
        return await self._ended(
            self.operation, operation_id, _OPERATION_ENDS, seconds, every_seconds, name="state"
        )

    async def _ended(
        self,
        read: Callable[[str], Awaitable[dict[str, Any]]],
        id: str,
        ends: frozenset[str],
        seconds: float,
        every_seconds: float,
        name: str = "status",
    ) -> dict[str, Any]:
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


class AsyncEvents:
    """The tenant's feed of events."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def get(self, event_id: str) -> dict[str, Any]:
        return dict(await self._client.request("GET", _path("events", event_id)))

    def list(self, **query: object) -> AsyncIterator[dict[str, Any]]:
        """All events that fit: `type`, `subject_id`, `account_id`, `since`, `until`, `order`, `limit` (of a page)."""
        asked = {name: _text(value) for name, value in query.items()}
        return self._client.pages("/api/v1/events", "events", query=asked)

    async def follow(self, *, cursor: str | None = None, **query: object) -> AsyncIterator[Followed]:
        """All events from the feed's begin, or from `since`, and then each new one: never ends and never misses one.

        Keep the `cursor` of the last event that you have dealt with, and give it with the same query after a crash.
        Then the events of one page may come again, and none is left out. While the API cannot be reached, the follower
        asks again and again; it raises what asking again cannot help.
        """
        asked = {name: _text(value) for name, value in query.items()}
        asked |= {"limit": _FOLLOWED_AT_ONCE, "wait_seconds": _WAIT_SECONDS}
        while True:
            try:
                page = await self._client.request("GET", "/api/v1/events", query={**asked, "cursor": cursor})
            except (ConnectionFailed, DeadlineExceeded, RateLimited, Unavailable):
                await self._client.rest()
                continue
            events, before = page["events"], cursor
            cursor = page["follow_cursor"] or cursor
            for place, event in enumerate(events, start=1):
                yield Followed(event=event, cursor=cursor if place == len(events) else before)


def _path(things: str, id: str) -> str:
    return f"/api/v1/{things}/{quote(id, safe='')}"


def _new_key() -> str:
    return str(uuid.uuid4())


def _given(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _text(value: Any) -> Any:
    """An instant as RFC 3339; anything else as it is. Raises ValueError for an instant without an offset."""
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return value.isoformat()


def _parsed(answer: Answer) -> Any:
    try:
        return json.loads(answer.body) if answer.body else None
    except ValueError:
        return None
