"""Reports of reconciliations without the findings about one tenant."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from postdate.domain.errors import Unavailable
from postdate.domain.event import parsed_id
from postdate.domain.reconciling import Reconciliation
from postdate.stores.reconciliations import Reconciliations
from postdate.stores.reports import Reports


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingsEraser:
    reconciliations: Reconciliations
    reports: Reports

    def forget(self, tenant: str) -> None:
        """Removes the findings about the tenant from all reports; their counts stay. Working papers expire after a
        week. Raises Unavailable, also for a row that a newer release wrote: the newer release will erase it."""
        for each in self.reconciliations.each():
            self._forget(each, tenant)

    def _forget(self, found: Reconciliation, tenant: str) -> None:
        """Removes what one report says about the tenant. The object of the report loses findings, unjudged accounts and
        filled events. After that its row loses findings and proposals. Both steps may be repeated. Raises Unavailable
        if the row changed meanwhile."""
        after = replace(
            found,
            findings=tuple(each for each in found.findings if each["tenant"] != tenant),
            proposals=tuple(each for each in found.proposals if each.tenant != tenant),
            version=found.version + 1,
        )
        report = self.reports.get(found.report)
        if report is not None and (left := _without(report, tenant)) != report:
            self.reports.put(found.report, left)
        changed = (after.findings, after.proposals) != (found.findings, found.proposals)
        if changed and not self.reconciliations.change(after):
            raise Unavailable("a report was changed by somebody else")


def _without(report: Mapping[str, Any], tenant: str) -> dict[str, Any]:
    return {
        **report,
        "findings": [each for each in report["findings"] if each["tenant"] != tenant],
        "unjudged": [each for each in report["unjudged"] if not _is_about(each, tenant)],
        "events_filled": [each for each in report["events_filled"] if not _tells(each, tenant)],
    }


def _is_about(unjudged: str, tenant: str) -> bool:
    """True for an account of the tenant that kept changing, and for its feed that could not be checked."""
    return unjudged.startswith(f"{tenant}#") or unjudged == f"events of {tenant}"


def _tells(event: str, tenant: str) -> bool:
    """True if the id of the event has a name of the tenant. Ids of events of payments, tasks and runs have none."""
    found = parsed_id(tenant, event)
    return found is not None and not found[0].is_item
