"""Repairs what a reconciliation proposed, after a person has approved it.

The approval is written first, then the repair is made, and its outcome is written last. After a crash in between, the
same request goes on: an account is set to its journal once for each reconciliation, and a chain that is begun twice
does no harm.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from functions.api.accounts.restate import Restater
from postdate.domain.errors import Conflict, NotFound, PostdateError, ValidationFailed
from postdate.domain.reconciling import BEGIN_CHAIN, DONE, SET_TO_JOURNAL, Proposal, Reconciliation
from postdate.runtime.clock import Clock
from postdate.stores.reconciliations import Reconciliations

_TRIES: Final = 3
# A request has 29 seconds; this is the part for repairs. An account takes five, because it is looked at twice.
_TIME: Final = timedelta(seconds=15)


@dataclass(frozen=True, kw_only=True, slots=True)
class Approver:
    """Approves repairs and makes them."""

    reconciliations: Reconciliations
    restater: Restater
    # Begins a new chain of runs for a tenant's recurring task.
    begin_chain: Callable[[str, str], object]
    clock: Clock

    def approve(
        self, id: str, *, tenant: str | None, subjects: Iterable[str] | None, by: str, reason: str
    ) -> Reconciliation:
        """Approves the proposals for these subjects, or all, of one tenant or of all tenants. Then makes the repairs
        until the time is over. The same request again makes the repairs that are left, and tries refused ones again.
        `by` is the id of the API key. Raises NotFound, and ValidationFailed if a subject could be one of several
        tenants."""
        chosen = _chosen(self._load(id).proposals, tenant, None if subjects is None else set(subjects))
        now = self.clock.now()

        def approved(each: Proposal) -> Proposal:
            if each.approved_by or _name_of(each) not in chosen:
                return each
            return replace(each, approved_by=by, approved_at=now, reason=reason)

        found = self._changed(id, approved)
        for each in found.proposals:
            if self.clock.now() > now + _TIME:
                break
            if each.approved_by and each.outcome != DONE and _name_of(each) in chosen:
                found = self._noted(id, each, self._repaired(id, each))
        return found

    def _repaired(self, id: str, proposal: Proposal) -> str:
        """`done`, or why it was refused."""
        try:
            if proposal.repair == SET_TO_JOURNAL:
                self.restater.restate(
                    proposal.tenant,
                    proposal.subject,
                    reason=f"{proposal.reason} ({id})",
                    key=f"{id} {proposal.subject}",
                    fingerprint=id,
                )
            elif proposal.repair == BEGIN_CHAIN:
                self.begin_chain(proposal.tenant, proposal.subject)
        except PostdateError as error:
            return str(error)
        return DONE

    def _noted(self, id: str, proposal: Proposal, outcome: str) -> Reconciliation:
        def noted(each: Proposal) -> Proposal:
            same = (each.tenant, each.subject, each.repair) == (
                proposal.tenant,
                proposal.subject,
                proposal.repair,
            )
            return replace(each, outcome=outcome) if same else each

        return self._changed(id, noted)

    def _changed(self, id: str, change: Callable[[Proposal], Proposal]) -> Reconciliation:
        """Changes the proposals of a reconciliation, decided again if another change came first."""
        for _ in range(_TRIES):
            before = self._load(id)
            proposals = tuple(map(change, before.proposals))
            if proposals == before.proposals:
                return before
            after = replace(before, proposals=proposals, version=before.version + 1)
            if self.reconciliations.change(after):
                return after
        raise Conflict

    def _load(self, id: str) -> Reconciliation:
        found = self.reconciliations.get(id)
        if found is None:
            raise NotFound(f"there is no reconciliation {id}")
        return found


def _name_of(proposal: Proposal) -> tuple[str, str]:
    return proposal.tenant, proposal.subject


def _chosen(
    proposals: Iterable[Proposal], tenant: str | None, subjects: Set[str] | None
) -> set[tuple[str, str]]:
    """The proposals that are meant, by tenant and subject: two tenants may have accounts of one name."""
    of_tenant = {_name_of(each) for each in proposals if tenant in (None, each.tenant)}
    if subjects is None:
        return of_tenant
    owners = Counter(subject for _, subject in of_tenant)
    if unknown := subjects - owners.keys():
        raise NotFound(f"the reconciliation proposes no repair of {', '.join(sorted(unknown))}")
    if shared := sorted(subject for subject in subjects if owners[subject] > 1):
        raise ValidationFailed(
            [("tenant", f"several tenants have proposals for {', '.join(shared)}: name one")]
        )
    return {(owner, subject) for owner, subject in of_tenant if subject in subjects}
