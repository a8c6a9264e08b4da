"""Reconciliation: sums of an account over three tables, the accounts whose sums disagree, and findings.

Sums are read while money moves, so a disagreement is a suspicion only. The look at the whole account decides.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

# Checks that only a reconciliation makes. The names of the others are those of postdate.domain.invariants.
ACCOUNT_EXISTS: Final = "account_exists"
NEXT_RUN_EXISTS: Final = "next_run_exists"
DEAD_HAS_LETTER: Final = "dead_task_has_letter"
LETTER_HAS_ITEM: Final = "letter_has_item"
EVENTS_COMPLETE: Final = "events_complete"
EVENTS_ARCHIVED: Final = "events_archived"
# An account's findings are repaired by one movement, so they make one proposal.
SET_TO_JOURNAL: Final = "set_to_journal"
BEGIN_CHAIN: Final = "begin_chain"
# The outcome of a repair that was made.
DONE: Final = "done"
# A run begins an hour before the reconciliation.
_ARCHIVED_WITHIN: Final = timedelta(hours=26)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A contradiction that a look at the rows themselves confirmed. `subject` is the id of an account or an item, and
    `repair` names the repair that a person may approve; empty if there is none."""

    # The name of the check.
    check: str
    # The owner of the subject; empty for a finding about the service.
    tenant: str
    # The id of an account or an item.
    subject: str
    # The value that was found.
    observed: Any
    # The value that the other rows demand.
    expected: Any
    # The repair that a person may approve; empty if there is none.
    repair: str = ""

    def values(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveRun:
    """The end of the newest run of the archive over all feeds."""

    # The instant of the end.
    finished_at: datetime
    # Tenants whose feeds could not be archived.
    failed: tuple[str, ...]


def late_archive(newest: ArchiveRun | None, *, now: datetime) -> list[Finding]:
    """Makes a finding for each feed that failed, and one if no run ended since the night before."""
    at = None if newest is None else newest.finished_at
    stands = at is None or now - at > _ARCHIVED_WITHIN
    late = [
        Finding(
            check=EVENTS_ARCHIVED,
            tenant="",
            subject="archive",
            observed=None if at is None else at.isoformat(),
            expected=f"a run of the archive within {_ARCHIVED_WITHIN // timedelta(hours=1)} hours",
        )
    ]
    failed = () if newest is None else newest.failed
    return (late if stands else []) + [
        Finding(
            check=EVENTS_ARCHIVED, tenant="", subject=each, observed="failed", expected="an archived feed"
        )
        for each in failed
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A repair of one account or one recurring task, which is made only when a person has approved it."""

    # The owner of the subject.
    tenant: str
    # The account's or the task's id.
    subject: str
    # SET_TO_JOURNAL or BEGIN_CHAIN.
    repair: str
    # The key that approved it; empty before.
    approved_by: str = ""
    # The instant of the approval; None before.
    approved_at: datetime | None = None
    # The reason that the person gave; empty before.
    reason: str = ""
    # The answer of the repair, once it was tried: DONE, or why it was refused.
    outcome: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reconciliation:
    """The end of one run, as the API tells it. The report names all findings, this the first hundred."""

    # Begins with the instant at which the run began.
    id: str
    # The instant at which the machine began.
    started_at: datetime
    # The instant of the report.
    finished_at: datetime
    # The number of findings by check; empty if nothing is wrong.
    by_check: Mapping[str, int]
    # The number of rows, accounts, plans and letters that were looked at.
    looked_at: Mapping[str, int]
    # Accounts that never stood still.
    unjudged: int
    # Missing events that were made from histories.
    events_filled: int
    # The name of the report in the bucket.
    report: str
    # The values of `Finding`.
    findings: tuple[Mapping[str, Any], ...] = ()
    # The repairs that a person may approve.
    proposals: tuple[Proposal, ...] = ()
    # 1 when reported, one more with each change: an approval, or the erasure of a tenant. Conditional writes compare
    # it.
    version: int = 1

    @property
    def ok(self) -> bool:
        return not self.by_check


def run_id(started_at: datetime, name: str) -> str:
    """The id of the run that an execution of the machine makes: a step that is repeated finds it again."""
    return f"rec_{started_at.astimezone(UTC):%Y%m%dT%H%M%SZ}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
