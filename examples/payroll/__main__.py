"""Payroll: 500 salaries at one instant, each paid once although the program is started twice.

PYTHONPATH=client .venv/bin/python -m examples.payroll
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from examples.local import client, expect, open_account
from postdate_client import Client
from postdate_client.forms import BatchPaymentForm

PEOPLE: Final = 500
SALARY: Final = 100
AT_ONCE: Final = 100
_SECONDS_MAX: Final = 300


def batches(things: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(things), AT_ONCE):
        yield things[start : start + AT_ONCE]


def schedule(postdate: Client, payroll: str, people: list[str], at: datetime) -> set[str]:
    """The ids of the payments. The idempotency key names payroll and person, so a second call schedules nothing."""
    ids = set()
    for some in batches(people):
        payments: list[BatchPaymentForm] = [
            {
                "from_account_id": payroll,
                "to_account_id": person,
                "amount": SALARY,
                "scheduled_time": at,
                "idempotency_key": f"{payroll}-{person}",
            }
            for person in some
        ]
        results = postdate.schedule_payments(payments)
        ids |= {result["payment"]["payment_id"] for result in results if "payment" in result}
    return ids


def main() -> None:
    payroll = f"payroll-{time.time_ns()}"
    people = [f"{payroll}-{number}" for number in range(PEOPLE)]
    with client("admin_key") as admin, client() as postdate:
        open_account(admin, payroll, PEOPLE * SALARY)
        for some in batches(people):
            admin.open_accounts([{"account_id": person} for person in some])
        at = datetime.now(UTC) + timedelta(seconds=30)
        first = schedule(postdate, payroll, people, at)
        second = schedule(postdate, payroll, people, at)  # as after a crash
        expect(second, first)  # the second start schedules nothing
        ends_at = time.monotonic() + _SECONDS_MAX
        while (account := postdate.account(payroll))["balance"] and time.monotonic() < ends_at:
            time.sleep(1)
        paid = list(postdate.payments(account_id=payroll, status="COMPLETED", limit=100))
    late = max(payment["lateness_ms"] or 0 for payment in paid)
    expect((len(paid), account["balance"], account["reserved"]), (PEOPLE, 0, 0))
    print(f"{len(paid)} salaries paid once each, the last one {late} ms after its instant.")


if __name__ == "__main__":
    main()
