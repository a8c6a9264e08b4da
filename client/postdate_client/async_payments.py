"""Payments for asyncio. `python client/generate.py` writes `payments.py` from this file."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, Unpack

from postdate_client.answers import (
    CancelledPayment,
    Payment,
    PaymentEvent,
    PaymentExecution,
    PaymentResult,
)
from postdate_client.async_requests import AsyncRequests
from postdate_client.forms import BatchPaymentForm, PaymentChangeForm, PaymentForm
from postdate_client.queries import PageQuery, PaymentsQuery
from postdate_client.values import given, keyed, named, new_key, path_of

_ENDS: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED"})
_LIST: Final = "/api/v1/payments"


class AsyncPayments(AsyncRequests):
    """Payments between accounts at a later instant."""

    async def schedule_payment(
        self, *, idempotency_key: str | None = None, **form: Unpack[PaymentForm]
    ) -> Payment:
        """Schedules a payment; one of `delay_seconds` and `scheduled_time` says when."""
        path, body = f"{_LIST}/schedule", given(named(form))
        answer: Payment = await self.request("POST", path, body, idempotency_key=idempotency_key or new_key())
        return answer

    async def schedule_payments(self, payments: Sequence[BatchPaymentForm]) -> list[PaymentResult]:
        """Schedules up to 100 payments. Each is scheduled or refused by itself, and has a key of its own."""
        items = [keyed(each) for each in payments]
        return await self._batch(f"{_LIST}/schedule/batch", "payments", items)

    async def payment(self, payment_id: str) -> Payment:
        answer: Payment = await self.request("GET", path_of("payments", payment_id))
        return answer

    def payments(
        self, *, metadata: Mapping[str, str] | None = None, **query: Unpack[PaymentsQuery]
    ) -> AsyncIterator[Payment]:
        """All payments that fit, and that have all of `metadata`. `limit` is that of a page."""
        pairs = {f"metadata.{name}": text for name, text in (metadata or {}).items()}
        return self.pages(_LIST, "payments", query=named(query) | pairs)

    async def change_payment(
        self, payment_id: str, *, version: int | None = None, **changes: Unpack[PaymentChangeForm]
    ) -> Payment:
        """Changes the payment while it is PENDING. A `description` of None takes the text away.

        A change with a `version` is sent once: after a lost answer the version tells whether it was made.
        """
        path, body = path_of("payments", payment_id), named(changes)
        answer: Payment = await self.request("PATCH", path, body, version=version, repeatable=version is None)
        return answer

    async def cancel_payment(self, payment_id: str) -> CancelledPayment:
        """Cancels a payment. Cancelling it again is no error."""
        path = f"{path_of('payments', payment_id)}/cancel"
        answer: CancelledPayment = await self.request("POST", path, repeatable=True)
        return answer

    def payment_events(self, payment_id: str, **query: Unpack[PageQuery]) -> AsyncIterator[PaymentEvent]:
        """The audit trail of a payment: one event for each version, in order."""
        return self.pages(f"{path_of('payments', payment_id)}/events", "events", query=named(query))

    async def payment_executions(self, payment_id: str, **query: Unpack[PageQuery]) -> list[PaymentExecution]:
        """The newest attempts to settle a payment, in order: one page, which has all unless the query limits it."""
        answer = await self.request("GET", f"{path_of('payments', payment_id)}/executions", query=query)
        return list(answer["executions"])

    async def wait_for_payment(
        self, payment_id: str, *, seconds: float = 60.0, every_seconds: float = 0.5
    ) -> Payment:
        """The payment once it is COMPLETED, FAILED or CANCELLED. Raises DeadlineExceeded."""
        return await self._ended(self.payment, payment_id, _ENDS, seconds, every_seconds)
