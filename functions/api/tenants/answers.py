"""Answers about tenants and their signing secrets."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, told
from functions.api.forms import text_of
from functions.api.tasks import targets
from functions.api.tasks.targets import Target
from functions.api.tenants.administer import TenantWithSecret
from functions.api.tenants.counting import ErasureCount
from functions.api.tenants.forms import LISTS
from postdate.domain.erasing import STEPS, Erasure
from postdate.domain.tenancy import Tenancy
from postdate.stores import tenants


class Quotas(TypedDict):
    registered_per_second: Annotated[Count, told("Tasks and payments; the tier's number unless set.")]
    runs_in_flight: Annotated[
        Count | None, told("Deliveries in flight at all workers; null for the usual bound.")
    ]


class Progress(TypedDict):
    step: Annotated[Count, told("The step that is under way, from 1 to `steps`.")]
    steps: Annotated[Count, told("All steps; most come twice.")]
    doing: Annotated[str, told("The name of the step: mostly of a table.")]
    rows: Annotated[Count, told("Rows that were renamed, cancelled or deleted until now.")]
    began_at: Annotated[Instant, told("The instant of the request.")]
    waits_until: Annotated[Instant | None, told("The end of the wait that the step is; null in other steps.")]


class Tenant(TypedDict):
    tenant_id: str
    status: Annotated[
        Literal["ACTIVE", "SUSPENDED", "ERASING", "ERASED"],
        told(
            "Only an active tenant registers anything; ERASED is the tenant that has an erased tenant's money."
        ),
    ]
    suspended_because: str | None
    pending: Annotated[
        Literal["wait", "run"] | None,
        told("What becomes of items that are due while the tenant is suspended; null if it is not."),
    ]
    tier: str
    quotas: Quotas
    queues: list[str]
    topics: list[str]
    buses: list[str]
    default_target: Annotated[Target | None, told("The target of jobs that name none.")]
    spread_seconds: Annotated[
        Count,
        told("The default of tasks that run once: they start within this span; 0 for their own instant."),
    ]
    erased_as: Annotated[str | None, told("The new name of its money; null before its erasure began.")]
    erasure: Annotated[Progress | None, told("How far its erasure is; null unless it is under way.")]
    version: Annotated[Count, told("One more with each change; 0 for tenants of older releases.")]


class NewTenant(Tenant):
    signing_secret: Annotated[str, told("The secret of its webhooks. It is told only now.")]


class TenantList(TypedDict):
    tenants: list[Tenant]
    next_cursor: Cursor


class NewSigningSecret(TypedDict):
    signing_secret: Annotated[str, told("The new secret. It is told only now.")]
    previous_until: Annotated[
        Instant | None,
        told("Until then webhooks carry a signature of the previous secret too; null for none."),
    ]


class PaymentsToCancel(TypedDict):
    count: Annotated[Count, told("Payments that have not ended.")]
    amount: Annotated[Count, told("What they hold, which returns to their payers.")]


class ErasurePreview(TypedDict):
    tenant_id: str
    rows: Annotated[
        dict[str, Count],
        told(
            "The rows that are renamed or deleted, by their tables: of accounts, journal and payments renamed."
        ),
    ]
    payments_cancelled: Annotated[PaymentsToCancel, told("Payments that the erasure would cancel.")]
    letters: Annotated[Count, told("Dead letters that are deleted; counted last.")]
    next_cursor: Annotated[
        str | None,
        told(
            "There is more to count. The next answer has the sums of all answers until then; null for the last."
        ),
    ]


class ReplacedDataKey(TypedDict):
    tenant_id: str
    seals_from: Annotated[Instant, told("From then on the new key seals.")]


def of(given: tenants.Tenant, erasure: Erasure | None = None) -> Tenant:
    """`erasure` is None unless it is under way."""
    known, lists = given.tenancy, {name: sorted(given.allowed(kind)) for name, kind in LISTS.items()}
    return {
        "tenant_id": given.id,
        "status": _status(given, erasure),
        "suspended_because": known.suspended_because,
        "pending": _pending(known),
        "tier": given.tier,
        "quotas": {"registered_per_second": given.quota, "runs_in_flight": known.runs_in_flight},
        "queues": lists["queues"],
        "topics": lists["topics"],
        "buses": lists["buses"],
        "default_target": None if given.default_target is None else targets.view(given.default_target),
        "spread_seconds": known.spread_seconds,
        "erased_as": known.erased_as,
        "erasure": None if erasure is None else _progress(erasure),
        "version": known.version,
    }


def _status(
    given: tenants.Tenant, erasure: Erasure | None
) -> Literal["ACTIVE", "SUSPENDED", "ERASING", "ERASED"]:
    known = given.tenancy
    if known.erased_as is not None:
        return "ERASED" if known.erased_as == given.id and erasure is None else "ERASING"
    return "ACTIVE" if known.suspended_because is None else "SUSPENDED"


def _pending(known: Tenancy) -> Literal["wait", "run"] | None:
    if known.suspended_because is None:
        return None
    return "wait" if known.pending_waits else "run"


def _progress(erasure: Erasure) -> Progress:
    """The row is told of its end after the last step."""
    last = len(STEPS)
    return {
        "step": min(erasure.step + 1, last),
        "steps": last,
        "doing": "end" if erasure.is_over else erasure.name,
        "rows": erasure.rows,
        "began_at": text_of(erasure.began_at),
        "waits_until": text_of(erasure.until),
    }


def counted(tenant: str, given: ErasureCount) -> ErasurePreview:
    found = given.found
    return {
        "tenant_id": tenant,
        "rows": dict(found["rows"]),
        "payments_cancelled": {"count": found["cancelled"], "amount": found["held"]},
        "letters": found["letters"],
        "next_cursor": given.cursor,
    }


def rotated(told: TenantWithSecret) -> NewSigningSecret:
    return {"signing_secret": told.secret, "previous_until": text_of(told.tenant.signing_until)}
