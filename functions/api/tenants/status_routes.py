"""Routes that suspend, resume and erase a tenant."""

from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.tenants import answers
from functions.api.tenants.examples import ACME
from functions.api.tenants.forms import EraseForm, SuspendForm
from functions.api.tenants.routes import registry, shown
from postdate.domain.errors import ValidationFailed
from postdate.domain.scopes import OPS

STATUS: Final = Routes("/api/v1/ops/tenants/<tenant_id>")


@STATUS.serves(
    "post",
    "/suspend",
    name="suspendTenant",
    summary="Suspend a tenant",
    text="Within 5 seconds the tenant registers nothing more. Reads, cancellations and acknowledgements continue. "
    "With `run`, items run at their instants. With `wait`, none begins from 2 seconds after the answer until the "
    "tenant is resumed; then payments go on in the order of their instants. What waits counts no attempt and is not "
    "lost.",
    body=SuspendForm,
    examples={
        "unpaid": {"summary": "Items run", "value": {"pending": "run", "reason": "unpaid"}},
        "short": {"summary": "Without a reason", "value": {"pending": "run"}},
        "fraud": {"summary": "Items wait", "value": {"pending": "wait", "reason": "fraud"}},
    },
    example={**ACME, "status": "SUSPENDED", "suspended_because": "unpaid", "pending": "run"},
    scope=OPS,
    headers=("ETag",),
    codes=("malformed", "validation_failed", "not_found"),
)
def suspend(caller: Caller, tenant_id: str) -> Response[answers.Tenant]:
    form = parsed(SuspendForm, requests.body(_event()))
    return requests.item(answers.of(registry().suspend(tenant_id, form, by=caller.actor)))


@STATUS.serves(
    "post",
    "/resume",
    name="resumeTenant",
    summary="Resume a tenant",
    text="The tenant registers again within 5 seconds, and what waited goes on.",
    example=ACME,
    scope=OPS,
    headers=("ETag",),
    codes=("not_found",),
)
def resume(caller: Caller, tenant_id: str) -> Response[answers.Tenant]:
    return requests.item(answers.of(registry().resume(tenant_id, by=caller.actor)))


@STATUS.serves(
    "post",
    "/erase",
    name="eraseTenant",
    summary="Erase a tenant",
    text="This cannot be undone. The tenant has to be suspended, and `confirm` repeats its id. Payments that wait are "
    "cancelled. Accounts, movements and payments get new names, and keep their amounts and instants alone; all else of "
    "the tenant is deleted, and the key that opens its names in the archive at last. That takes about 26 hours. Then "
    "`erased_as` is the tenant that has the money, and the event `tenant.erased` names it. Repeat the request to go on "
    "with an erasure whose execution failed.",
    status=202,
    body=EraseForm,
    examples={
        "contract": {
            "summary": "The end of a contract",
            "value": {"confirm": "acme", "reason": "contract ended"},
        }
    },
    example={
        **ACME,
        "status": "ERASING",
        "suspended_because": "contract ended",
        "pending": "run",
        "erased_as": "erased-k4c5tq7wzr2m6x3na8jy",
        "erasure": {
            "step": 1,
            "steps": 37,
            "doing": "keys",
            "rows": 0,
            "began_at": "2026-11-18T09:30:12.408Z",
            "waits_until": None,
        },
    },
    scope=OPS,
    headers=("ETag",),
    codes=("malformed", "validation_failed", "not_found", "invalid_state"),
)
def erase(caller: Caller, tenant_id: str) -> Response[answers.Tenant]:
    form = parsed(EraseForm, requests.body(_event()))
    body = shown(registry().erase(tenant_id, form, by=caller.actor))
    return requests.item(body, status=202, derived=True)


@STATUS.serves(
    "get",
    "/erasure",
    name="previewErasure",
    summary="Count what an erasure would do",
    text="Changes nothing; the tenant need not be suspended. All tables are read: half a dollar for 60 million rows. "
    "An answer comes within 20 seconds; follow `next_cursor` until it is null. What comes meanwhile may be missing. "
    "Pages of operations are among the rows, and so are the tenant's row and its data keys.",
    example={
        "tenant_id": "acme",
        "rows": {"items": 120, "payments": 3_400, "accounts": 12, "journal": 3_350},
        "payments_cancelled": {"count": 50, "amount": 12_500},
        "letters": 2,
        "next_cursor": None,
    },
    scope=OPS,
    parameters=("cursor",),
    codes=("validation_failed", "not_found", "invalid_state"),
)
def preview_erasure(_: Caller, tenant_id: str) -> answers.ErasurePreview:
    parameters = requests.parameters(_event())
    if unknown := sorted(parameters.keys() - {"cursor"}):
        raise ValidationFailed([(name, "is not a known parameter") for name in unknown])
    return answers.counted(tenant_id, registry().count_erasure(tenant_id, parameters.get("cursor")))


def _event() -> BaseProxyEvent:
    return STATUS.router.current_event
