"""Headers and signing secrets are readable in a delivery and nowhere else."""

from dataclasses import replace

import pytest

from postdate.domain.errors import Unavailable
from postdate.domain.task import Destination, State
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.tenants import Tenant
from postdate.stores.vault import SIGNING, Vault
from tests.unit.doubles import START, a_task, message
from tests.unit.run_tasks.plans import a_definition, run_at_start

HEADERS = (("Authorization", "Bearer x"),)
HOOK = Destination(type="webhook", address="https://hooks.example.com/a", headers=HEADERS)


class Closed(MemoryDataKeys):
    def get(self, owner: str) -> bytes | None:
        raise Unavailable


def to(destination: Destination):
    return replace(a_task(), destination=destination)


def test_a_delivery_has_what_the_rows_keep_sealed(running):
    secret = running.vault.seal("demo", SIGNING, "whsec_bmV3")
    running.tenants.put(Tenant(id="demo", signing_secrets=(secret,)))
    task = to(running.vault.sealed("demo", HOOK))
    running.stores(task)
    running.run(message(task))
    ((_, delivery),) = running.target.started
    assert (delivery.destination, delivery.signing_secrets) == (HOOK, ("whsec_bmV3",))
    assert "Bearer" not in repr(running.stored(task))


def test_readable_headers_of_an_older_release_are_sealed_by_the_claim(running):
    task = to(HOOK)
    running.stores(task)
    running.run(message(task))
    ((_, delivery),) = running.target.started
    assert delivery.destination == HOOK
    stored = running.stored(task)
    assert (stored.state, stored.destination) == (State.SUCCEEDED, running.vault.sealed("demo", HOOK))


def test_readable_headers_of_a_plan_are_sealed_with_its_later_runs(running):
    plan = a_definition()
    plan = replace(plan, template=replace(plan.template, destination=HOOK))
    running.definitions.add(plan)
    run = run_at_start(plan)
    running.stores(run)
    running.run(message(run))
    sealed = running.vault.sealed("demo", HOOK)
    assert running.definitions.get(plan.id) == replace(
        plan, template=replace(plan.template, destination=sealed)
    )
    ids = running.tasks.runs_listed("demo", plan.id, after="", limit=9)
    rows = list(running.tasks.get_many(ids).values())
    assert len(rows) == 2
    assert {row.destination for row in rows} == {sealed}


@pytest.mark.parametrize("what", ["headers", "signing secrets"])
def test_a_secret_that_cannot_be_opened_now_costs_no_attempt(running, what):
    sealed = running.vault.sealed("demo", HOOK)
    secret = running.vault.seal("demo", SIGNING, "whsec_bmV3")
    if what == "signing secrets":
        running.tenants.put(Tenant(id="demo", signing_secrets=(secret,)))
    task = to(sealed if what == "headers" else replace(HOOK, headers=()))
    running.stores(task)
    kept, running.vault = running.vault, Vault(data_keys=Closed(), clock=running.clock)
    assert running.run(message(task)).postponed == 1
    assert (running.target.started, running.stored(task).attempts) == ([], 0)
    running.vault = kept
    running.run(running.arrival())
    assert (running.stored(task).state, running.stored(task).attempts) == (State.SUCCEEDED, 1)


def test_headers_of_another_tenant_end_the_task(running):
    """A person wrote into the table: no attempt makes the headers readable."""
    running.vault.seal("demo", SIGNING, "whsec_bmV3")
    task = to(running.vault.sealed("other", HOOK))
    running.stores(task)
    running.run(message(task))
    assert running.target.started == []
    assert (running.stored(task).state, running.stored(task).error) == (State.DEAD, "its headers do not open")


def test_a_signing_secret_that_does_not_open_waits_for_a_person(running):
    running.vault.seal("demo", SIGNING, "whsec_bmV3")
    foreign = running.vault.seal("other", SIGNING, "whsec_b2xk")
    running.tenants.put(Tenant(id="demo", signing_secrets=(foreign,)))
    task = to(HOOK)
    running.stores(task)
    assert running.run(message(task)).postponed == 1
    assert running.target.started == []


def test_headers_of_a_replaced_data_key_are_sealed_anew_by_the_claim(running):
    data_keys = MemoryDataKeys()
    task = to(Vault(data_keys=data_keys, clock=running.clock).sealed("demo", HOOK))
    data_keys.replace("demo", seals_from=START, now=START)
    running.vault = Vault(data_keys=data_keys, clock=running.clock)
    running.stores(task)
    running.run(message(task))
    ((_, delivery),) = running.target.started
    assert delivery.destination == HOOK
    stored = running.stored(task)
    assert stored.destination.sealed != task.destination.sealed
    assert stored.destination == running.vault.sealed("demo", HOOK)
