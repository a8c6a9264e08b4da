"""`GET /api/v1/audit`: a tenant's money, checked account by account, by `postdate.use_cases.auditing`."""

from datetime import datetime
from typing import Annotated, Any, Final

from typing_extensions import TypedDict

from functions.api import requests
from functions.api.answers import Count, Instant, described
from functions.api.caller import Caller
from functions.api.forms import text_of
from functions.api.listing import AFTER_BYTES_MAX
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.errors import ValidationFailed
from postdate.runtime import metric
from postdate.runtime.observability import emit, logger
from postdate.use_cases.auditing import Audited, Auditor

AUDIT: Final = Routes("/api/v1/audit")


class AuditCheck(TypedDict):
    name: str
    ok: bool
    observed: Any
    expected: Any
    checked_at: Instant


class Audit(TypedDict):
    ok: bool
    checks: list[AuditCheck]
    accounts: Annotated[Count, described("How many were looked at.")]
    moving: Annotated[list[str], described("Accounts that changed each time they were looked at.")]
    unread: Annotated[
        list[str],
        described(
            "Accounts with more than there was time to read, or with a row that a newer release wrote."
        ),
    ]
    goes_on_after: str | None


@AUDIT.serves(
    "get",
    "",
    name="audit",
    summary="Whether the books are right",
    text="Checks the tenant's accounts, payments and journal against each other while work goes on. Accounts that "
    "never stood still are named in `moving`: nothing is said of them. When there is no time for all accounts, "
    "`goes_on_after` says where to go on with `after`. An operator's key with the scope `ops` audits the tenant that "
    "it names.",
    scope="admin",
    for_operators=True,
    parameters=("audit_after",),
    codes=("validation_failed",),
)
def audit(caller: Caller) -> Audit:
    after = requests.parameters(AUDIT.router.current_event).get("after", "")
    if len(after.encode()) > AFTER_BYTES_MAX:
        raise ValidationFailed([("after", "is not an account's id")])
    auditor = Auditor(ledger=wired().tables.ledger, clock=wired().clock)
    audited = auditor.audit(caller.tenant, after=after)
    _tell(caller.tenant, audited)
    return view(audited, wired().clock.now())


def _tell(tenant: str, audited: Audited) -> None:
    wrong = [check.name for check in audited.checks if not check.ok]
    emit(metric.AUDITS_FAILED if wrong else metric.AUDITS_PASSED)
    if wrong:
        logger.error(
            "an audit found a contradiction",
            extra={"action": "audit_failed", "tenant": tenant, "checks": wrong},
        )


def view(audited: Audited, now: datetime) -> Audit:
    return {
        "ok": all(check.ok for check in audited.checks),
        "checks": [
            {
                "name": check.name,
                "ok": check.ok,
                "observed": check.observed,
                "expected": check.expected,
                "checked_at": text_of(now),
            }
            for check in audited.checks
        ],
        "accounts": audited.accounts,
        "moving": audited.moving,
        "unread": audited.unread,
        "goes_on_after": audited.goes_on_after,
    }
