"""An approval is for the proposals that it names: accounts of two tenants may have one name."""

from typing import Any

import pytest

from functions.api.reconciliations.approve import Approver
from postdate.domain.errors import NotFound, ValidationFailed
from postdate.domain.reconciling import BEGIN_CHAIN, DONE, Proposal, Reconciliation
from postdate.stores.reconciliations_memory import MemoryReconciliations
from tests.unit.doubles import START, ManualClock

PROPOSED = (("acme", "rent"), ("acme", "wages"), ("other", "rent"))


class World:
    def __init__(self) -> None:
        self.repaired: list[tuple[str, str]] = []
        self.runs = MemoryReconciliations()
        self.runs.put(
            Reconciliation(
                id="run",
                started_at=START,
                finished_at=START,
                by_check={"next_run_exists": len(PROPOSED)},
                looked_at={},
                unjudged=0,
                events_filled=0,
                report="",
                proposals=tuple(
                    Proposal(tenant=tenant, subject=subject, repair=BEGIN_CHAIN)
                    for tenant, subject in PROPOSED
                ),
            )
        )

    def approve(self, **chosen: Any) -> list[tuple[str, str]]:
        """Returns the proposals that are approved and repaired."""
        approver = Approver(
            reconciliations=self.runs,
            restater=None,  # type: ignore[arg-type]
            begin_chain=lambda tenant, subject: self.repaired.append((tenant, subject)),
            clock=ManualClock(),
        )
        asked = {"tenant": None, "subjects": None, **chosen}
        found = approver.approve("run", **asked, by="key", reason="seen")
        done = [(each.tenant, each.subject) for each in found.proposals if each.outcome == DONE]
        assert done == [(each.tenant, each.subject) for each in found.proposals if each.approved_by]
        assert sorted(done) == sorted(self.repaired)
        return done


def test_without_a_choice_all_are_approved() -> None:
    assert World().approve() == list(PROPOSED)


def test_a_tenant_alone_means_all_of_its_proposals() -> None:
    assert World().approve(tenant="acme") == [("acme", "rent"), ("acme", "wages")]


def test_a_subject_of_two_tenants_is_approved_for_the_named_one_only() -> None:
    assert World().approve(tenant="other", subjects=["rent"]) == [("other", "rent")]


def test_a_subject_of_two_tenants_needs_its_tenant_and_nothing_is_approved_without() -> None:
    world = World()
    with pytest.raises(ValidationFailed, match="several tenants have proposals for rent"):
        world.approve(subjects=["wages", "rent"])
    assert world.repaired == []
    assert world.approve(subjects=["wages"]) == [("acme", "wages")]


def test_a_subject_that_the_named_tenant_does_not_have_is_not_found() -> None:
    with pytest.raises(NotFound):
        World().approve(tenant="other", subjects=["wages"])
