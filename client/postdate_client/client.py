"""The client for threads.

`python client/generate.py` writes this file from `async_client.py`.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from postdate_client.answers import (
    Account,
    AnyCancelledTask,
    AnyTask,
    AnyTaskWithPayload,
    CancelledPayment,
    ListedTask,
    Operation,
    Payment,
    PlannedRun,
    Run,
    Transaction,
    Whoami,
)
from postdate_client.feed import Events
from postdate_client.requests import Requests
from postdate_client.values import given, new_key, path_of, text_of

_PAYMENT_ENDS: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED"})
_TASK_ENDS: Final = frozenset({"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "FINISHED"})
_OPERATION_ENDS: Final = frozenset({"PLANNED", "DONE", "STOPPED", "ABORTED"})


class Client(Requests):
    """One tenant's client. `deadline_seconds` bounds a request with all its retries, `timeout_seconds` one attempt.

    A request that registers or moves money carries an idempotency key: the one given, or a new one. All attempts of the
    request carry the same, so a lost answer neither loses nor doubles anything. To be safe across a crash of the caller
    as well, give a key of your own, such as the id of the order.
    """

    @property
    def events(self) -> Events:
        """The feed of events."""
        return Events(self)

    def whoami(self) -> Whoami:
        """Tenant, scopes and accounts of the key."""
        answer: Whoami = self.request("GET", "/api/v1/whoami")
        return answer

    def schedule_payment(
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
    ) -> Payment:
        """Schedules a payment; one of `delay_seconds` and `scheduled_time` says when."""
        body = given(
            from_account_id=from_account_id,
            to_account_id=to_account_id,
            amount=amount,
            delay_seconds=delay_seconds,
            scheduled_time=text_of(scheduled_time),
            funding=funding,
            description=description,
            metadata=None if metadata is None else dict(metadata),
        )
        key = idempotency_key or new_key()
        answer: Payment = self.request("POST", "/api/v1/payments/schedule", body, idempotency_key=key)
        return answer

    def payment(self, payment_id: str) -> Payment:
        answer: Payment = self.request("GET", path_of("payments", payment_id))
        return answer

    def payments(self, **query: object) -> Iterator[Payment]:
        """All payments that fit: `account_id`, `status`, `until`, `order`, `limit` (of a page)."""
        return self.pages("/api/v1/payments", "payments", query=query)

    def change_payment(self, payment_id: str, *, version: int | None = None, **changes: object) -> Payment:
        """Changes `scheduled_time`, `amount`, `description` or `metadata` while the payment is PENDING.

        A change with a `version` is sent once: after a lost answer the version tells whether it was made.
        """
        body = {name: text_of(value) for name, value in changes.items()}
        answer: Payment = self.request(
            "PATCH", path_of("payments", payment_id), body, version=version, repeatable=version is None
        )
        return answer

    def cancel_payment(self, payment_id: str) -> CancelledPayment:
        """Cancels a payment. Cancelling it again is no error."""
        path = f"{path_of('payments', payment_id)}/cancel"
        answer: CancelledPayment = self.request("POST", path, repeatable=True)
        return answer

    def register_task(
        self, *, target: Mapping[str, Any], idempotency_key: str | None = None, **fields: Any
    ) -> AnyTask:
        """Registers a task; one of `run_at`, `delay_seconds` and `cron` says when."""
        body = {"target": dict(target)} | {name: text_of(value) for name, value in fields.items()}
        key = idempotency_key or new_key()
        answer: AnyTask = self.request("POST", "/api/v1/tasks", body, idempotency_key=key)
        return answer

    def task(self, task_id: str) -> AnyTaskWithPayload:
        answer: AnyTaskWithPayload = self.request("GET", path_of("tasks", task_id))
        return answer

    def tasks(self, **query: object) -> Iterator[ListedTask]:
        """All tasks that fit: `status`, `name`, `tag`, `limit` (of a page)."""
        return self.pages("/api/v1/tasks", "tasks", query=query)

    def cancel_task(self, task_id: str) -> AnyCancelledTask:
        """Cancels a task. Cancelling it again is no error."""
        answer: AnyCancelledTask = self.request("DELETE", path_of("tasks", task_id), repeatable=True)
        return answer

    def trigger_task(self, task_id: str, *, idempotency_key: str | None = None) -> Run:
        """Runs a recurring task now. The plan stays as it is."""
        path = f"{path_of('tasks', task_id)}/trigger"
        answer: Run = self.request("POST", path, idempotency_key=idempotency_key or new_key())
        return answer

    def preview(self, cron: str, *, timezone: str = "UTC", count: int = 10) -> list[PlannedRun]:
        """The next instants of a cron, with notes on changes of clocks."""
        body = {"cron": cron, "timezone": timezone, "count": count}
        answer = self.request("POST", "/api/v1/tasks/preview", body, repeatable=True)
        return list(answer["next"])

    def account(self, account_id: str) -> Account:
        answer: Account = self.request("GET", path_of("accounts", account_id))
        return answer

    def accounts(self, **query: object) -> Iterator[Account]:
        return self.pages("/api/v1/accounts", "accounts", query=query)

    def transactions(self, account_id: str, **query: object) -> Iterator[Transaction]:
        """The journal of an account, in the order in which it was written."""
        return self.pages(f"{path_of('accounts', account_id)}/transactions", "transactions", query=query)

    def wait_for_payment(
        self, payment_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> Payment:
        """The payment once it is COMPLETED, FAILED or CANCELLED. Raises DeadlineExceeded."""
        return self._ended(self.payment, payment_id, _PAYMENT_ENDS, seconds, every_seconds)

    def wait_for_task(
        self, task_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> AnyTaskWithPayload:
        """The task once it has ended. Raises DeadlineExceeded."""
        return self._ended(self.task, task_id, _TASK_ENDS, seconds, every_seconds)

    def operation(self, operation_id: str) -> Operation:
        answer: Operation = self.request("GET", path_of("operations", operation_id))
        return answer

    def wait_for_operation(
        self, operation_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> Operation:
        """The operation once it runs no longer: DONE, STOPPED, ABORTED, or never started. Raises DeadlineExceeded."""
        return self._ended(
            self.operation, operation_id, _OPERATION_ENDS, seconds, every_seconds, name="state"
        )
