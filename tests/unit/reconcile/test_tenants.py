"""Tenants are checked in groups, each of which is an execution of its own."""

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Final

import pytest

from functions.reconcile import handler as reconcile
from functions.reconcile.papers import Papers
from postdate.domain.reconciled_sums import part_of
from tests.integration.world import Context
from tests.machine import Interpreted
from tests.unit.doubles import ManualClock
from tests.unit.reconcile.folder import Folder

# A task that calls a function makes five events, a Choice makes two. A tenant has two tasks and a Choice.
EVENTS_OF_A_TENANT: Final = 12
EVENTS_MAX: Final = 25_000


class Environment:
    """An environment with so many tenants, and nothing else."""

    def __init__(self, tenants: int) -> None:
        self.names = sorted(f"tenant-{number}" for number in range(tenants))
        self.reads = 0
        self.checked: list[str] = []
        self.folder = Folder()
        self.tenants = SimpleNamespace(ids=self.ids)
        self.inspector = SimpleNamespace(inspect=self.inspect)
        self.collector = SimpleNamespace(plan=lambda started_at: ([], []))
        self.letters = SimpleNamespace(check=lambda papers: None)
        self.parameters = SimpleNamespace(fresh=nullcontext)

    def ids(self) -> list[str]:
        self.reads += 1
        return self.names

    def inspect(self, tenant: str, papers: Papers) -> tuple[list[Any], dict[str, Any]]:
        self.checked.append(tenant)
        return [], {}

    def papers(self, run: str) -> Papers:
        return Papers(reports=self.folder, run=run)

    def handled(self, event: dict[str, Any]) -> Any:
        return {"ok": True} if event["action"] == "report" else reconcile.handler(event, Context())


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Environment]:
    def made(tenants: int) -> Environment:
        found = Environment(tenants)
        monkeypatch.setattr(reconcile, "wired", lambda: found)
        return found

    return made


def test_each_tenant_is_checked_once_and_the_list_of_tenants_is_read_rarely(
    environment: Callable[[int], Environment],
) -> None:
    of = environment(250)
    looked: list[str] = []

    def looked_for(event: dict[str, Any]) -> Any:
        looked.append(event["tenant"])
        return {"after": None}

    machine = Interpreted(
        name="reconcile", calls={"Reconcile": of.handled, "Record": looked_for}, clock=ManualClock()
    )
    machine.start("night", {})
    machine.run()
    assert machine.status["night"] == "SUCCEEDED"
    assert sorted(of.checked) == sorted(looked) == of.names
    # By the plan, and twice by each group.
    assert of.reads == 1 + 2 * reconcile.GROUPS


@pytest.mark.parametrize("tenants", [0, 1, 3_999, 10_500, 50_000])
def test_no_group_has_more_tenants_than_one_execution_has_room_for(
    environment: Callable[[int], Environment], tenants: int
) -> None:
    of = environment(tenants)
    plan = of.handled({"action": "plan", "name": "night", "started_at": "2026-11-18T02:17:00+00:00"})
    groups = plan["groups"]
    assert groups == list(range(len(groups)))
    assert len(groups) >= reconcile.GROUPS
    sizes = Counter(part_of(name, len(groups)) for name in of.names)
    # The other half is for further pages of events.
    assert max(sizes.values(), default=0) * EVENTS_OF_A_TENANT < 0.6 * EVENTS_MAX


def test_an_execution_of_the_release_before_goes_on(environment: Callable[[int], Environment]) -> None:
    """The definition of the earlier release names neither the number of groups nor the tenants ahead."""
    of = environment(20)
    for group in range(reconcile.GROUPS):
        event: dict[str, Any] = {"action": "tenant", "run": "run", "group": group, "tenant": None}
        event |= {"events_after": None, "events_since": "2026-11-16T02:17:00+00:00"}
        while (event := of.handled(event))["goes_on"]:
            pass
    assert sorted(of.checked) == of.names
