"""Escrow: a buyer's money is held until the goods arrive, or goes back. No program waits and nothing is polled.

The payment to the seller is scheduled for the end of the term, and its amount is held from now on. An arrival brings
the payment forward, a dispute cancels it, and silence pays at the end of the term. The shop follows the events.

PYTHONPATH=client .venv/bin/python -m examples.escrow
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

from examples.local import client, expect, open_account

PRICE: Final = 300
TERM: Final = timedelta(days=14)
SHORT_TERM: Final = timedelta(seconds=8)
_ENDS: Final = {"payment.completed": "paid out", "payment.cancelled": "given back"}


def main() -> None:
    shop, begun = f"escrow-{time.time_ns()}", datetime.now(UTC)
    buyer, seller = f"{shop}-buyer", f"{shop}-seller"
    with client("admin_key") as admin, client() as postdate:
        open_account(admin, buyer, 3 * PRICE)
        open_account(admin, seller)
        orders = {
            order: postdate.schedule_payment(
                from_account_id=buyer,
                to_account_id=seller,
                amount=PRICE,
                scheduled_time=begun + term,
                metadata={"order": order},
                idempotency_key=f"{shop}-{order}",
            )["payment_id"]
            for order, term in (("arrived", TERM), ("disputed", TERM), ("silent", SHORT_TERM))
        }
        expect(postdate.account(buyer)["available"], 0)
        soon = datetime.now(UTC) + timedelta(seconds=2)
        postdate.change_payment(orders["arrived"], scheduled_time=soon)
        postdate.cancel_payment(orders["disputed"])
        names = {id: order for order, id in orders.items()}
        ended: dict[str, str] = {}
        for followed in postdate.events.follow(account_id=buyer, since=begun - timedelta(minutes=1)):
            event = followed.event
            if event["type"] in _ENDS:
                ended[names[event["subject"]["id"]]] = _ENDS[event["type"]]
            if len(ended) == len(orders):
                break
        expect(ended, {"arrived": "paid out", "disputed": "given back", "silent": "paid out"})
        left, earned = postdate.account(buyer), postdate.account(seller)
        expect((left["available"], left["reserved"], earned["balance"]), (PRICE, 0, 2 * PRICE))
    print("; ".join(f"{order}: {end}" for order, end in sorted(ended.items())))


if __name__ == "__main__":
    main()
