"""Routes of tenants, under /api/v1/ops/tenants, and of a tenant's own signing secrets."""

from datetime import timedelta
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.forms import parsed, text_of
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.switches.turn import Turner
from functions.api.tenants import answers
from functions.api.tenants.administer import Registry
from functions.api.tenants.forms import (
    EraseForm,
    SecretRotationForm,
    SuspendForm,
    TenantChangeForm,
    TenantForm,
)
from functions.api.wiring import wired
from postdate.domain.scopes import OPS

TENANTS: Final = Routes("/api/v1/ops/tenants")
SECRETS: Final = Routes("/api/v1/signing-secrets")
_QUEUE: Final = "https://sqs.eu-central-1.amazonaws.com/111122223333/postdate-destination-acme"
_ACME: Final[dict[str, Any]] = {
    "tenant_id": "acme",
    "status": "ACTIVE",
    "suspended_because": None,
    "pending": None,
    "tier": "standard",
    "quotas": {"registered_per_second": 1000, "runs_in_flight": None},
    "queues": [_QUEUE],
    "topics": [],
    "buses": [],
    "default_target": {"type": "sqs", "queue_url": _QUEUE},
    "spread_seconds": 0,
    "erased_as": None,
    "version": 1,
}
_REFUSED: Final = ("malformed", "validation_failed", "destination_not_allowed", "invalid_state")


@TENANTS.serves(
    "post",
    "",
    name="makeTenant",
    summary="Make a tenant",
    text="With the destinations that its tasks may go to. The secret that signs its webhooks is in this answer and in "
    "no other. A tenant has no key yet: make one with the header `Postdate-Tenant`.",
    status=201,
    body=TenantForm,
    examples={
        "acme": {
            "summary": "A tenant with one queue",
            "value": {
                "tenant_id": "acme",
                "queues": [_QUEUE],
                "default_target": {"type": "sqs", "queue_url": _QUEUE},
            },
        }
    },
    example={**_ACME, "signing_secret": "whsec_<secret>"},
    scope=OPS,
    headers=("Location",),
    codes=_REFUSED,
)
def make(_: Caller) -> Response[answers.NewTenant]:
    made = _registry().make(parsed(TenantForm, requests.body(_event())))
    body: answers.NewTenant = {**answers.of(made.tenant), "signing_secret": made.secret}
    headers: dict[str, str | list[str]] = {"Location": f"/api/v1/ops/tenants/{made.tenant.id}"}
    return Response(status_code=201, content_type="application/json", body=body, headers=headers)


@TENANTS.serves(
    "get",
    "",
    name="listTenants",
    summary="List tenants",
    text="In the order of their ids.",
    example={"tenants": [_ACME], "next_cursor": None},
    scope=OPS,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_tenants(_: Caller) -> answers.TenantList:
    parameters = requests.parameters(_event())
    listing.only_known(parameters)
    span, tenants = Span.of(parameters, "tenants"), wired().all_tenants
    behind = [id for id in tenants.ids() if id > span.after]
    ids, cursor = span.cut(behind, str)
    found = (tenants.get(id) for id in ids)
    return {"tenants": [answers.of(each) for each in found if each is not None], "next_cursor": cursor}


@TENANTS.serves(
    "get",
    "/<tenant_id>",
    name="getTenant",
    summary="Get a tenant",
    text="Without its secrets.",
    example=_ACME,
    scope=OPS,
    codes=("not_found",),
)
def get(_: Caller, tenant_id: str) -> answers.Tenant:
    return answers.of(_registry().find(tenant_id))


@TENANTS.serves(
    "patch",
    "/<tenant_id>",
    name="changeTenant",
    summary="Change a tenant",
    text="Its tier, quotas, destinations and default target. The change has effect within 5 seconds for registrations, "
    "and within 30 seconds for deliveries.",
    body=TenantChangeForm,
    examples={
        "quota": {"summary": "A quota of its own", "value": {"quotas": {"registered_per_second": 50}}},
        "queues": {"summary": "Another list of queues", "value": {"queues": [_QUEUE]}},
    },
    example=_ACME,
    scope=OPS,
    codes=(*_REFUSED, "not_found"),
)
def change(_: Caller, tenant_id: str) -> answers.Tenant:
    return answers.of(_registry().edit(tenant_id, parsed(TenantChangeForm, requests.body(_event()))))


@TENANTS.serves(
    "post",
    "/<tenant_id>/suspend",
    name="suspendTenant",
    summary="Suspend a tenant",
    text="Within 5 seconds the tenant registers nothing more. Reads, cancellations and acknowledgements continue. "
    "With `run`, items run at their instants. With `wait`, none begins from 2 seconds after the answer until the "
    "tenant is resumed; then payments go on in the order of their instants. What waits counts no attempt and is not "
    "lost.",
    body=SuspendForm,
    examples={
        "unpaid": {"summary": "Items run", "value": {"pending": "run", "reason": "unpaid"}},
        "fraud": {"summary": "Items wait", "value": {"pending": "wait", "reason": "fraud"}},
    },
    example={**_ACME, "status": "SUSPENDED", "suspended_because": "unpaid", "pending": "run"},
    scope=OPS,
    codes=("malformed", "validation_failed", "not_found"),
)
def suspend(caller: Caller, tenant_id: str) -> answers.Tenant:
    form = parsed(SuspendForm, requests.body(_event()))
    return answers.of(_registry().suspend(tenant_id, form, by=caller.actor))


@TENANTS.serves(
    "post",
    "/<tenant_id>/resume",
    name="resumeTenant",
    summary="Resume a tenant",
    text="The tenant registers again within 5 seconds, and what waited goes on.",
    example=_ACME,
    scope=OPS,
    codes=("not_found",),
)
def resume(caller: Caller, tenant_id: str) -> answers.Tenant:
    return answers.of(_registry().resume(tenant_id, by=caller.actor))


@TENANTS.serves(
    "post",
    "/<tenant_id>/erase",
    name="eraseTenant",
    summary="Erase a tenant",
    text="This cannot be undone. The tenant has to be suspended, and `confirm` repeats its id. Payments that wait are "
    "cancelled. Accounts, movements and payments get new names, and keep their amounts and instants alone; all else of "
    "the tenant is deleted, and the key that opens its names in the archive at last. That takes a good day. Then "
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
        **_ACME,
        "status": "ERASING",
        "suspended_because": "contract ended",
        "pending": "run",
        "erased_as": "erased-k4c5tq7wzr2m6x3na8jy",
    },
    scope=OPS,
    codes=("malformed", "validation_failed", "not_found", "invalid_state"),
)
def erase(caller: Caller, tenant_id: str) -> Response[answers.Tenant]:
    form = parsed(EraseForm, requests.body(_event()))
    body = answers.of(_registry().erase(tenant_id, form, by=caller.actor))
    return Response(status_code=202, content_type="application/json", body=body)


@TENANTS.serves(
    "post",
    "/<tenant_id>/replace-data-key",
    name="replaceDataKey",
    summary="Replace a tenant's data key",
    text="The new key seals the tenant's signing secrets and headers from `seals_from`, which is a little more than an "
    "hour away: by then every copy of the functions knows it. The keys before open what they sealed. Rows are sealed "
    "anew when they are used: tasks when they run, plans with their next run, the tenant's own secrets with the next "
    "change of the tenant.",
    example={"tenant_id": "acme", "seals_from": "2026-11-18T10:35:12.408Z"},
    scope=OPS,
    codes=("not_found", "invalid_state"),
)
def replace_data_key(_: Caller, tenant_id: str) -> answers.ReplacedDataKey:
    seals_from = _registry().replace_data_key(tenant_id)
    return {"tenant_id": tenant_id, "seals_from": text_of(seals_from)}


@SECRETS.serves(
    "post",
    "/rotate",
    name="rotateSigningSecret",
    summary="Give the tenant a new signing secret",
    text="The new secret is in this answer and in no other. Webhooks carry a signature of each live secret: of the new "
    "one within 30 seconds, and of the previous one for `overlap_seconds` more, by default a day. With 0 the previous "
    "secret ends within 30 seconds.",
    body=SecretRotationForm,
    body_needed=False,
    examples={"week": {"summary": "With a week's overlap", "value": {"overlap_seconds": 604_800}}},
    example={"signing_secret": "whsec_<secret>", "previous_until": "2026-11-19T09:30:12.408Z"},
    scope="keys:write",
    codes=("malformed", "validation_failed", "not_found"),
)
def rotate(caller: Caller) -> answers.NewSigningSecret:
    form = parsed(SecretRotationForm, requests.body(SECRETS.router.current_event) or b"{}")
    rotated = _registry().rotate(caller.tenant, overlap=timedelta(seconds=form.overlap_seconds))
    return answers.rotated(rotated)


def _event() -> BaseProxyEvent:
    return TENANTS.router.current_event


def _registry() -> Registry:
    given = wired()
    turner = Turner(switches=given.switches, clock=given.clock)
    return Registry(
        tenants=given.all_tenants,
        vault=given.vault,
        turner=turner,
        data_keys=given.data_keys,
        erasures=given.erasures,
        machine=given.erasing_machine,
        clock=given.clock,
    )
