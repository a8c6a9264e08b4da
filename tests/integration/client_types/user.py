"""A program as a user of the client writes it: checked by mypy and pyright at their strictest, and never run."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Literal, assert_type

from postdate_client import (
    AsyncClient,
    Client,
    Followed,
    InsufficientFunds,
    PostdateError,
    Retry,
    Unavailable,
    answers,
    forms,
    queries,
    webhooks,
)
from postdate_client.answers import AnyTaskWithPayload, Event, Payment, Run, Task


def pay(url: str, key: str) -> str:
    with Client(url, key, retry=Retry(), timeout_seconds=5.0, deadline_seconds=30.0) as postdate:
        assert_type(postdate, Client)
        payment = postdate.schedule_payment(
            from_account_id="alice",
            to_account_id="bob",
            amount=250,
            delay_seconds=5,
            idempotency_key="order-4711",
        )
        assert_type(payment, Payment)
        assert_type(payment["amount"], int)
        assert_type(payment["lateness_ms"], int | None)
        since = datetime(2026, 11, 1, tzinfo=UTC)
        query: queries.PaymentsQuery = {"status": "PENDING", "from_": since, "until": "2026-12-01T00:00:00Z"}
        found = postdate.payments(**query, metadata={"order": "4711"})
        assert_type(postdate.payments(account_id=None, order="desc", limit=100), Iterator[Payment])
        assert_type(found, Iterator[Payment])
        assert_type(postdate.change_payment("pay_1", description=None, scheduled_time=since), Payment)
        assert_type(postdate.cancel_payment("pay_1")["status"], Literal["CANCELLED"])
        assert_type(postdate.account("alice")["available"], int)
        assert_type([each["note"] for each in postdate.preview("30 2 * * *")], list[str | None])
        assert_type(postdate.operation("op_1")["eligible"], answers.Eligible)
        made = postdate.schedule_payments([{"from_account_id": "a", "to_account_id": "b", "amount": 5}])
        assert_type([each["error"]["detail"] for each in made if "error" in each], list[str])
        assert_type(postdate.complete_run("run_1", token=1)["attempts"], list[answers.Attempt])
        assert_type(postdate.forecast("alice")["falls_short_at"], str | None)
        assert_type(next(postdate.payment_events(payment["payment_id"]))["event_type"] == "PARKED", bool)
        try:
            return str(postdate.wait_for_payment(payment["payment_id"])["status"])
        except InsufficientFunds as error:
            assert_type(error.request_id, str)
            return error.code
        except Unavailable as error:
            return f"{error.status}"


async def follow(url: str, key: str) -> None:
    async with AsyncClient(url, key) as postdate:
        assert_type(postdate, AsyncClient)
        task = await postdate.register_task(
            target={"type": "sqs", "queue_url": "https://queue"}, delay_seconds=5, payload={"order": 4711}
        )
        call: forms.WebhookForm = {"type": "webhook", "url": "https://hooks.example.com", "method": "PUT"}
        await postdate.register_task(
            target=call, cron="0 6 * * *", overlap="queue", retry={"max_attempts": 3}, tags=["mail"]
        )
        if "run_at" in task:
            assert_type(task, Task)
        ended = await postdate.wait_for_task(task["task_id"])
        assert_type(ended, AnyTaskWithPayload)
        if "cron" in ended:
            assert_type(ended["timezone"], str)
        else:
            assert_type(ended["attempts"], int)
        assert_type(await postdate.trigger_task("task_1"), Run)
        followed = postdate.events.follow(type="payment.*")
        assert_type(followed, AsyncIterator[Followed])
        async for each in followed:
            assert_type(each.cursor, str | None)
            assert_type(each.event, Event)
            assert_type(each.event["sequence"], int)


def receive(body: bytes, headers: dict[str, str], secret: str) -> int:
    try:
        webhooks.verify(body, headers, secret)
    except webhooks.Refused as error:
        assert_type(str(error), str)
        return 401
    return 200


if __name__ == "__main__":
    try:
        pay("https://api", "key")
    except PostdateError:
        asyncio.run(follow("https://api", "key"))
