"""An application that bills subscribers: each payment that completes leads to the next one, and it never polls."""

import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from threading import Event, Lock
from typing import Any

from cli.client import Client
from cli.local.listening import Answering, listening
from tests.e2e.conftest import RunningStack
from tests.e2e.test_payments import opened  # noqa: F401

_applications = count(1)
PERIODS = 4
SUBSCRIBERS = 5


@dataclass(kw_only=True)
class Billing:
    """Knows payments by the events that it is told, once each, and schedules the next period's payment."""

    client: Client
    shop: str
    secret: str = ""
    told: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    ended: dict[str, str] = field(default_factory=dict)
    forged: int = 0
    done: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def take(self, headers: dict[str, str], body: bytes) -> None:
        signed = b".".join((headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body))
        digest = hmac.digest(b64decode(self.secret.removeprefix("whsec_")), signed, "sha256")
        if f"v1,{b64encode(digest).decode()}" not in headers["webhook-signature"].split():
            self.forged += 1
            return
        event = json.loads(body)
        with self.lock:
            self.told.append((time.time(), event))
            if event["event_id"] not in self.seen:
                self._account(event)
                self.seen.add(event["event_id"])

    def _account(self, event: dict[str, Any]) -> None:
        """A failure in here is answered with no success, and the event comes again."""
        after = event["data"]["after"]
        period, account = int(after["metadata"]["period"]), after["from_account_id"]
        if event["type"] == "payment.failed":
            self.ended[account] = f"failed in period {period}"
        elif period == PERIODS:
            self.ended[account] = "paid"
        else:
            self.bill(account, period + 1)
        if len(self.ended) == SUBSCRIBERS:
            self.done.set()

    def bill(self, account: str, period: int) -> None:
        form = {
            "from_account_id": account,
            "to_account_id": self.shop,
            "amount": 10,
            "delay_seconds": 1,
            "funding": "at_execution",
            "metadata": {"period": str(period), "shop": self.shop},
        }
        key = {"Idempotency-Key": f"{self.shop}-{account}-{period}"}
        self.client.post("/api/v1/payments/schedule", form, **key).expect(201)


@contextmanager
def billing(stack: RunningStack, shop: str) -> Iterator[tuple[Billing, str]]:
    application = Billing(client=stack.client(), shop=shop)

    class Handler(Answering):
        def called(self) -> None:
            body = self.body()
            application.take({name.lower(): value for name, value in self.headers.items()}, body)
            self.answer(204)

    with listening(Handler) as address:
        yield application, f"{address}/events"


def test_an_application_that_bills_by_events_never_polls(stack: RunningStack, opened: Any) -> None:  # noqa: F811
    shop, poor, *rich = opened(0, 15, *(100,) * (SUBSCRIBERS - 1))
    with billing(stack, shop) as (application, url):
        client = application.client
        subscription = client.post(
            "/api/v1/subscriptions",
            {
                "target": {"type": "webhook", "url": url},
                "types": ["payment.completed", "payment.failed"],
                "filter": {"account_id": shop, "metadata": {"shop": shop}},
            },
        ).expect(201)
        application.secret = subscription["secret"]
        for account in (poor, *rich):
            application.bill(account, 1)
        assert application.done.wait(90), application.ended
        client.delete(f"/api/v1/subscriptions/{subscription['subscription_id']}").expect(200)
    assert application.ended == {poor: "failed in period 2"} | dict.fromkeys(rich, "paid")
    assert application.forged == 0
    assert len(application.seen) == 2 + PERIODS * (SUBSCRIBERS - 1)
    delays = sorted(
        at - datetime.fromisoformat(event["occurred_at"]).timestamp() for at, event in application.told
    )
    print(
        f"events at the webhook after {delays[len(delays) // 2]:.3f} s in the median, {delays[-1]:.3f} s at most"
    )
    assert delays[-1] <= 10
