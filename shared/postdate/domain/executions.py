"""Executions of a payment: one entry for each attempt, the newest 20."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from postdate.domain.payment import (
    Execution,
    ExecutionStatus,
    Payment,
)

# Older attempts are dropped, so that the row stays small.
EXECUTIONS_MAX: Final = 20


def execution_id(payment: Payment) -> str:
    """The id of the next attempt."""
    return f"exe_{payment.id.rpartition('_')[2]}_{payment.attempts + 1}"


def ended(
    payment: Payment,
    now: datetime,
    status: ExecutionStatus,
    *,
    id: str | None = None,
    error: str | None = None,
) -> tuple[Execution, ...]:
    execution = Execution(
        id=id or execution_id(payment),
        status=status,
        started_at=now,
        completed_at=now,
        error=error,
        retry_count=payment.attempts,
    )
    return (*_failed_before(payment, now), execution)[-EXECUTIONS_MAX:]


def begun(payment: Payment, now: datetime, error: str) -> tuple[Execution, ...]:
    execution = Execution(
        id=execution_id(payment),
        status=ExecutionStatus.IN_PROGRESS,
        started_at=now,
        error=error,
        retry_count=payment.attempts,
    )
    return (*_failed_before(payment, now), execution)[-EXECUTIONS_MAX:]


def _failed_before(payment: Payment, now: datetime) -> tuple[Execution, ...]:
    # An attempt that failed for a passing reason was left IN_PROGRESS, see `Execution`.
    return tuple(
        replace(each, status=ExecutionStatus.FAILED, completed_at=now)
        if each.status is ExecutionStatus.IN_PROGRESS
        else each
        for each in payment.executions
    )
