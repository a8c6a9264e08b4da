"""Routes that make, list, show and change tenants, under /api/v1/ops/tenants."""

from typing import Final

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
from functions.api.tenants.counting import ErasureCounter
from functions.api.tenants.examples import ACME, QUEUE
from functions.api.tenants.forms import TenantChangeForm, TenantForm
from functions.api.wiring import wired
from postdate.domain.scopes import OPS
from postdate.stores.tenants import Tenant

TENANTS: Final = Routes("/api/v1/ops/tenants")
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
                "queues": [QUEUE],
                "default_target": {"type": "sqs", "queue_url": QUEUE},
            },
        }
    },
    example={**ACME, "signing_secret": "whsec_<secret>"},
    scope=OPS,
    headers=("Location", "ETag"),
    codes=_REFUSED,
)
def make(_: Caller) -> Response[answers.NewTenant]:
    made = registry().make(parsed(TenantForm, requests.body(_event())))
    body: answers.NewTenant = {**answers.of(made.tenant), "signing_secret": made.secret}
    return requests.item(body, status=201, headers={"Location": f"/api/v1/ops/tenants/{made.tenant.id}"})


@TENANTS.serves(
    "get",
    "",
    name="listTenants",
    summary="List tenants",
    text="In the order of their ids.",
    example={"tenants": [ACME], "next_cursor": None},
    scope=OPS,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_tenants(_: Caller) -> answers.TenantList:
    parameters = requests.parameters(_event())
    listing.only_known(parameters)
    span, tenants = Span.of(parameters, "tenants"), wired().tables.tenants
    behind = [id for id in tenants.ids() if id > span.after]
    ids, cursor = span.cut(behind, str)
    found = (tenants.get(id) for id in ids)
    return {"tenants": [shown(each) for each in found if each is not None], "next_cursor": cursor}


@TENANTS.serves(
    "get",
    "/<tenant_id>",
    name="getTenant",
    summary="Get a tenant",
    text="Without its secrets. While the tenant is erased, `erasure` tells how far that is.",
    example=ACME,
    scope=OPS,
    headers=("ETag",),
    codes=("not_found",),
)
def get(_: Caller, tenant_id: str) -> Response[answers.Tenant]:
    tenant = registry().find(tenant_id)
    # The progress of an erasure changes without the tenant's version.
    return requests.item(shown(tenant), derived=tenant.tenancy.erased_as is not None)


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
        "queues": {"summary": "Another list of queues", "value": {"queues": [QUEUE]}},
    },
    example=ACME,
    scope=OPS,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=(*_REFUSED, "not_found", "version_conflict"),
)
def change(_: Caller, tenant_id: str) -> Response[answers.Tenant]:
    form = parsed(TenantChangeForm, requests.body(_event()))
    changed = registry().edit(tenant_id, form, version=requests.version_wanted(_event()))
    return requests.item(answers.of(changed))


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
    seals_from = registry().replace_data_key(tenant_id)
    return {"tenant_id": tenant_id, "seals_from": text_of(seals_from)}


def _event() -> BaseProxyEvent:
    return TENANTS.router.current_event


def shown(tenant: Tenant) -> answers.Tenant:
    return answers.of(tenant, registry().erasure(tenant))


def registry() -> Registry:
    given = wired()
    return Registry(
        tenants=given.tables.tenants,
        vault=given.vault,
        turner=Turner(switches=given.tables.switches, clock=given.clock),
        data_keys=given.tables.data_keys,
        erasures=given.tables.erasures,
        machine=given.operators.erasing_machine,
        counter=ErasureCounter(function=given.operators.erasing_function),
        clock=given.clock,
    )
