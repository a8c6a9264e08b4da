"""The end of a reconciliation: its report, its row for the API, and what the machine tells on."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from functions.reconcile.papers import Papers
from postdate.domain.reconciling import Proposal, Reconciliation
from postdate.runtime.clock import Clock
from postdate.stores.reconciliations import Reconciliations

# In the row and in the answers of the API. The report has all.
FINDINGS_TOLD_MAX: Final = 100
# Tenants that get an event. The report names the findings of all.
TENANTS_TOLD_MAX: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportWriter:
    reconciliations: Reconciliations
    clock: Clock

    def report(self, run: str, started_at: str, papers: Papers) -> dict[str, Any]:
        findings: list[dict[str, Any]] = []
        unjudged: list[str] = []
        looked: dict[str, int] = {}
        # Not all of them are named.
        filled: list[str] = []
        filled_count = 0
        for paper in papers.found():
            findings += paper.get("findings", ())
            unjudged += paper.get("moving", ())
            filled += paper.get("filled", ())
            filled_count += paper.get("filled_count", 0)
            for name in ("rows", "letters"):
                for kind, count in paper.get(name, {}).items():
                    looked[f"{name}_{kind}"] = looked.get(f"{name}_{kind}", 0) + count
            for name in ("accounts", "plans", "dead", "subjects"):
                looked[name] = looked.get(name, 0) + paper.get(name, 0)
        # More than one step may find the same fault, so each subject counts once for each check.
        unique = {(each["check"], each["tenant"], each["subject"]): each for each in findings}
        findings = [unique[key] for key in sorted(unique)]
        by_check: dict[str, int] = {}
        for each in findings:
            by_check[each["check"]] = by_check.get(each["check"], 0) + 1
        now = self.clock.now()
        report = {
            "reconciliation_id": run,
            "started_at": started_at,
            "finished_at": now.isoformat(),
            "ok": not findings,
            "by_check": by_check,
            "looked_at": looked,
            "unjudged": unjudged,
            "events_filled": filled,
            "findings": findings,
        }
        name = papers.put_report(report)
        self.reconciliations.put(
            Reconciliation(
                id=run,
                started_at=datetime.fromisoformat(started_at),
                finished_at=now,
                by_check=by_check,
                looked_at=looked,
                unjudged=len(unjudged),
                events_filled=filled_count,
                report=name,
                # A row has a bounded size. The report in S3 has all findings.
                findings=tuple(findings[:FINDINGS_TOLD_MAX]),
                proposals=tuple(proposals(findings)[:FINDINGS_TOLD_MAX]),
            )
        )
        return {"run": run, "ok": not findings, "failed": _by_tenant(findings)[:TENANTS_TOLD_MAX]}


def proposals(findings: list[dict[str, Any]]) -> list[Proposal]:
    """Makes a proposal for each subject that can be repaired."""
    wanted = {(each["tenant"], each["subject"], each["repair"]) for each in findings if each["repair"]}
    return [
        Proposal(tenant=tenant, subject=subject, repair=repair) for tenant, subject, repair in sorted(wanted)
    ]


def _by_tenant(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    checks: dict[str, set[str]] = {}
    for each in findings:
        if each["tenant"]:
            checks.setdefault(each["tenant"], set()).add(each["check"])
    return [{"tenant": tenant, "checks": sorted(names)} for tenant, names in sorted(checks.items())]
