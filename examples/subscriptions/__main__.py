"""Billing of subscriptions without polling: a plan calls the shop, which schedules a payment. An event tells its end.

PYTHONPATH=client .venv/bin/python -m examples.subscriptions
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from examples.local import client, expect, open_account, stack
from examples.webhooks import receiving
from postdate_client import Client

FEE: Final = 30
MONTHLY: Final = "0 6 1 * *"
_ENDS: Final = {"payment.completed": "paid", "payment.failed": "past due"}


def bill(postdate: Client, shop: str, run_id: str, customer: str) -> None:
    """Called when a month is due. The run's id is the key, so a second attempt schedules nothing new."""
    postdate.schedule_payment(
        from_account_id=customer,
        to_account_id=shop,
        amount=FEE,
        delay_seconds=1,
        funding="at_execution",
        idempotency_key=run_id,
    )


def main() -> None:
    shop, begun = f"shop-{time.time_ns()}", datetime.now(UTC)
    customers = {f"{shop}-ada": 100, f"{shop}-ben": 0}
    with client("admin_key") as admin, client() as postdate:
        open_account(admin, shop)
        for customer, money in customers.items():
            open_account(admin, customer, money)

        def receive(run_id: str, payload: dict[str, Any]) -> None:
            bill(postdate, shop, run_id, payload["customer"])

        with receiving([stack()["signing_secret"]], receive) as url:
            plans = [
                postdate.register_task(
                    target={"type": "webhook", "url": url},
                    cron=MONTHLY,
                    timezone="Europe/Berlin",
                    name="subscription",
                    payload={"customer": customer},
                    idempotency_key=customer,
                )["task_id"]
                for customer in customers
            ]
            for plan in plans:
                postdate.trigger_task(plan, idempotency_key=f"{plan}-first")  # the first of the month, today
            ended: dict[str, str] = {}
            for followed in postdate.events.follow(account_id=shop, since=begun - timedelta(minutes=1)):
                event = followed.event
                if event["type"] in _ENDS:
                    (customer,) = set(event["subject"]["account_ids"]) - {shop}
                    ended[customer.removeprefix(f"{shop}-")] = _ENDS[event["type"]]
                if len(ended) == len(customers):
                    break
            for plan in plans:
                postdate.cancel_task(plan)
        expect(postdate.account(shop)["balance"], FEE)
    expect(ended, {"ada": "paid", "ben": "past due"})
    print("; ".join(f"{customer}: {end}" for customer, end in sorted(ended.items())))


if __name__ == "__main__":
    main()
