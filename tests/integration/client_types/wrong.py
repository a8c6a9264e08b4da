"""Wrong uses of the client: mypy and pyright must each find every line that ends with `# wrong`, and no other."""

from datetime import datetime
from typing import TypedDict

from postdate_client import AsyncClient, Client
from postdate_client.forms import BatchPaymentForm, PaymentForm, SqsForm
from postdate_client.queries import PaymentsQuery


class Needed(TypedDict):
    """The fields that a payment needs beside its instant."""

    from_account_id: str
    to_account_id: str
    amount: int


FORM: Needed = {"from_account_id": "alice", "to_account_id": "bob", "amount": 250}
WHOLE: PaymentForm = {"from_account_id": "alice", "to_account_id": "bob", "amount": 250, "delay_seconds": 5}
ITEM: BatchPaymentForm = {
    "from_account_id": "alice",
    "to_account_id": "bob",
    "amount": 250,
    "idempotency_key": "1",
}
QUEUE: SqsForm = {"type": "sqs", "queue_url": "https://queue"}


def answers(postdate: Client) -> int:
    postdate.account("alice")["avaliable"]  # wrong
    return postdate.payment("pay_1")["description"]  # wrong


def payments(postdate: Client, soon: datetime) -> None:
    postdate.schedule_payment(**WHOLE, idempotency_key="order-1")
    postdate.schedule_payment(**FORM, scheduled_time=soon)
    postdate.schedule_payment(from_account_id="alice", amount=250, delay_seconds=5)  # wrong
    postdate.schedule_payment(from_account_id=1, to_account_id="bob", amount=250)  # wrong
    postdate.schedule_payment(from_account_id="alice", to_account_id="bob", amount="250")  # wrong
    postdate.schedule_payment(from_account_id="alice", to_account_id="bob", amount=2.5)  # wrong
    postdate.schedule_payment(**FORM, delay=5)  # wrong
    postdate.schedule_payment(**FORM, delay_seconds=soon)  # wrong
    postdate.schedule_payment(**FORM, scheduled_time=5)  # wrong
    postdate.schedule_payment(**FORM, funding="later")  # wrong
    postdate.schedule_payment(**FORM, metadata={"order": 4711})  # wrong
    postdate.schedule_payment(**FORM, idempotency_key=4711)  # wrong
    postdate.change_payment("pay_1", ammount=5)  # wrong
    postdate.change_payment("pay_1", amount="5")  # wrong
    postdate.change_payment("pay_1", funding="reserve")  # wrong
    postdate.change_payment("pay_1", version="2", amount=5)  # wrong


def batches(postdate: Client) -> None:
    postdate.schedule_payments([ITEM, ITEM])
    postdate.schedule_payments([{"from_account_id": "alice", "amount": 5}])  # wrong
    postdate.register_tasks([{"target": QUEUE, "delay_seconds": "5"}])  # wrong
    postdate.open_accounts(["alice"])  # wrong


def administered(postdate: Client) -> None:
    postdate.open_account(account="alice")  # wrong
    postdate.change_account("alice", limits={"amount": 5})  # wrong
    postdate.deposit("alice", amount="5")  # wrong
    postdate.adjust("alice", amount=-5)  # wrong
    postdate.forecast("alice", to="2026-12-01T00:00:00Z")  # wrong


def acknowledged(postdate: Client) -> None:
    postdate.extend_run("run_1", token="1", extend_seconds=60)
    postdate.complete_run("run_1")  # wrong
    postdate.fail_run("run_1", token=1, error=404)  # wrong
    postdate.runs("task_1", status="DONE")  # wrong


def operated(postdate: Client) -> None:
    postdate.plan_operation(
        action="redrive", kind="tasks", filter={"from": "2026-11-18T00:00:00Z"}, reason="back"
    )
    postdate.plan_operation(action="redrive", kind="tasks", ids=["task_1"])  # wrong
    postdate.plan_operation(action="replay", kind="tasks", ids=["task_1"], reason="back")  # wrong
    postdate.plan_operation(action="retry", kind="tasks", filter={"state": "DEAD"}, reason="back")  # wrong
    postdate.backfill_task("task_1", to="2026-11-18T00:00:00Z")  # wrong
    postdate.change_task("task_1", jitter="5")  # wrong


def tasks(postdate: Client) -> None:
    postdate.register_task(target=QUEUE, delay_seconds=5)
    postdate.register_task(delay_seconds=5)  # wrong
    postdate.register_task(target={"type": "sqs"}, delay_seconds=5)  # wrong
    postdate.register_task(target={"type": "ftp", "url": "ftp://host"}, delay_seconds=5)  # wrong
    postdate.register_task(target={"type": "webhook", "url": "https://a", "method": "GET"})  # wrong
    postdate.register_task(target=QUEUE, run_at=5)  # wrong
    postdate.register_task(target=QUEUE, cron="0 6 * * *", overlap="wait")  # wrong
    postdate.register_task(target=QUEUE, cron="0 6 * * *", max_runs="1")  # wrong
    postdate.register_task(target=QUEUE, delay_seconds=5, ack="yes")  # wrong
    postdate.register_task(target=QUEUE, delay_seconds=5, tags="mail")  # wrong
    postdate.register_task(target=QUEUE, delay_seconds=5, retry={"attempts": 3})  # wrong
    postdate.register_task(target=QUEUE, delay_seconds=5, flow_control={"rate": 5})  # wrong
    postdate.preview("0 6 * * *", zone="Europe/Berlin")  # wrong
    postdate.preview("0 6 * * *", count="3")  # wrong


def lists(postdate: Client, soon: datetime) -> None:
    found: PaymentsQuery = {"status": "PENDING", "from_": soon}
    postdate.payments(**found, metadata={"order": "4711"})
    postdate.payments(status="DONE")  # wrong
    postdate.payments(state="PENDING")  # wrong
    postdate.payments(order="newest")  # wrong
    postdate.payments(limit="20")  # wrong
    postdate.payments(from_=5)  # wrong
    postdate.payments(metadata={"order": 4711})  # wrong
    postdate.tasks(status="COMPLETED")  # wrong
    postdate.tasks(tags=["mail"])  # wrong
    postdate.accounts(status="OPEN")  # wrong
    postdate.transactions("alice", until=soon)  # wrong
    postdate.events.list(types=["payment.completed"])  # wrong
    postdate.events.follow(order="desc")  # wrong
    postdate.events.follow(limit=5)  # wrong


async def asynchronous(postdate: AsyncClient) -> None:
    await postdate.schedule_payment(**FORM, delay_seconds=5)
    await postdate.schedule_payment(**FORM, funding="later")  # wrong
    await postdate.register_task(target={"type": "sqs"}, delay_seconds=5)  # wrong
    await postdate.change_payment("pay_1", amount="5")  # wrong
    postdate.payments(status="DONE")  # wrong
    postdate.events.follow(limit=5)  # wrong
