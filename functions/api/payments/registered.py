"""Logs and counts the payments that a request has registered."""

from collections.abc import Sequence

from functions.api import delays
from postdate.domain.payment import Funding, Payment
from postdate.runtime import metric
from postdate.runtime.observability import emit_all, logger


def note(written: Sequence[Payment]) -> None:
    """Logs one line for each payment that this request registered."""
    for payment in written:
        logger.info(
            "a payment is scheduled",
            extra={
                "action": "payment_scheduled",
                "payment_id": payment.id,
                "from_account_id": payment.payer,
                "to_account_id": payment.payee,
                "amount": payment.amount,
                "scheduled_time": payment.planned_at.isoformat(),
            },
        )
    emit_all(
        {
            metric.PAYMENTS_SCHEDULED: len(written),
            metric.HOLDS_CREATED: sum(each.funding is Funding.RESERVE for each in written),
        }
        | delays.counted(each.planned_at - each.created_at for each in written)
    )
