"""Answers about tenants and their signing secrets."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, described
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
    registered_per_second: Annotated[Count, described("Tasks and payments; the tier's number unless set.")]
    runs_in_flight: Annotated[
        Count | None, described("Deliveries in flight at all workers; null for the usual bound.")
    ]


class Progress(TypedDict):
    step: Annotated[Count, described("The step that is under way, from 1 to `steps`.")]
    steps: Annotated[Count, described("All steps; most come twice.")]
    doing: Annotated[str, described("The name of the step: mostly of a table.")]
    rows: Annotated[Count, described("Rows that were renamed, cancelled or deleted until now.")]
    began_at: Annotated[Instant, described("The instant of the request.")]
    waits_until: Annotated[
        Instant | None, described("The end of the wait that the step is; null in other steps.")
    ]


class Tenant(TypedDict):
    tenant_id: str
    status: Annotated[
        Literal["ACTIVE", "SUSPENDED", "ERASING", "ERASED"],
        described(
            "Only an active tenant registers anything; ERASED is the tenant that has an erased tenant's money."
        ),
    ]
    suspended_because: str | None
    pending: Annotated[
        Literal["wait", "run"] | None,
        described("What becomes of items that are due while the tenant is suspended; null if it is not."),
    ]
    tier: str
    quotas: Quotas
    queues: list[str]
    topics: list[str]
    buses: list[str]
    default_target: Annotated[Target | None, described("The target of jobs that name none.")]
    spread_seconds: Annotated[
        Count,
        described(
            "The default of tasks that run once: they start within this span; 0 for their own instant."
        ),
    ]
    erased_as: Annotated[str | None, described("The new name of its money; null before its erasure began.")]
    erasure: Annotated[Progress | None, described("How far its erasure is; null unless it is under way.")]
    version: Annotated[Count, described("One more with each change; 0 for tenants of older releases.")]


class NewTenant(Tenant):
    signing_secret: Annotated[str, described("The secret of its webhooks. It is told only now.")]


class TenantList(TypedDict):
    tenants: list[Tenant]
    next_cursor: Cursor


class NewSigningSecret(TypedDict):
    signing_secret: Annotated[str, described("The new secret. It is told only now.")]
    previous_until: Annotated[
        Instant | None,
        described("Until then webhooks carry a signature of the previous secret too; null for none."),
    ]


class PaymentsToCancel(TypedDict):
    count: Annotated[Count, described("Payments that have not ended.")]
    amount: Annotated[Count, described("What they hold, which returns to their payers.")]


class ErasurePreview(TypedDict):
    tenant_id: str
    rows: Annotated[
        dict[str, Count],
        described(
            "The rows that are renamed or deleted, by their tables: of accounts, journal and payments renamed."
        ),
    ]
    payments_cancelled: Annotated[PaymentsToCancel, described("Payments that the erasure would cancel.")]
    letters: Annotated[Count, described("Dead letters that are deleted; counted last.")]
    next_cursor: Annotated[
        str | None,
        described(
            "There is more to count. The next answer has the sums of all answers until then; null for the last."
        ),
    ]


class ReplacedDataKey(TypedDict):
    tenant_id: str
    seals_from: Annotated[Instant, described("From then on the new key seals.")]


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
    tenant: tenants.Tenant, erasure: Erasure | None
) -> Literal["ACTIVE", "SUSPENDED", "ERASING", "ERASED"]:
    """A tenant that is erased has two rows. The row of the old name is ERASING until it is deleted. The row of the new
    name is ERASING while the erasure is under way, and ERASED afterwards."""
    tenancy = tenant.tenancy
    if tenancy.erased_as is not None:
        return "ERASED" if tenancy.erased_as == tenant.id and erasure is None else "ERASING"
    return "ACTIVE" if tenancy.suspended_because is None else "SUSPENDED"


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
