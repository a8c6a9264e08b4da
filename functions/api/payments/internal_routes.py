"""The route by which another service of the operator has a due payment executed."""

from typing import Final

from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.forms import parsed
from functions.api.operation import Operation, Routes
from functions.api.payments.execution_answers import Executed
from functions.api.payments.forms import ExecutionForm
from functions.api.wiring import wired

INTERNAL: Final = Routes("/api/v1/internal/payments")


@INTERNAL.router.post("/api/v1/internal/payments/<payment_id>/execute")
def execute(payment_id: str) -> Executed:
    """Executes any payment that is due, for another service of ours and not for a tenant."""
    executor = wired().payments.executor
    executor.admit(_event().headers.get("x-internal-auth") or "")
    requests.check_writable()
    form = parsed(ExecutionForm, requests.body(_event()))
    return executor.execute(payment_id, form.execution_id)


INTERNAL.operations.append(
    Operation(
        method="post",
        path="/api/v1/internal/payments/{payment_id}/execute",
        name="executePayment",
        summary="Execute a due payment",
        text="For other services of the operator: any tenant's payment, under a name for the execution that they "
        "choose. Repeats are harmless and tell how the payment ended. Before it is due nothing happens.",
        body=ExecutionForm,
        examples={"one": {"summary": "An execution", "value": {"execution_id": "nightly-4711"}}},
        scope="internal",
        scheme="internal",
        parameters=("payment_id",),
        codes=("malformed", "validation_failed", "not_found", "invalid_state", "books_disagree"),
        route=execute,
    )
)


def _event() -> BaseProxyEvent:
    return INTERNAL.router.current_event
