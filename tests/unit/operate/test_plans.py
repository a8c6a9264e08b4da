"""Pausing, resuming and cancelling recurring tasks, many at a time."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from functions.api.operations.find import ItemFilter
from functions.operate.actors import acted
from postdate.domain.definition import State
from postdate.domain.errors import Forbidden, Unavailable
from postdate.domain.operation import Action, Kind, OperationRequest
from postdate.domain.operation_pages import Entry, Outcome
from postdate.domain.task import State as RunState
from tests.unit.operate.conftest import Service, a_caller

PLANS: dict[str, Any] = {"kind": Kind.PLANS}


def states(service: Service) -> set[State]:
    return {each.state for each in service.definitions._kept.values()}


def coming(service: Service) -> list[RunState]:
    return [task.state for task in service.tasks._tasks.values()]


def test_plans_are_paused_and_resumed(service: Service) -> None:
    plans = [service.recurring(number) for number in range(1, 31)]
    paused = service.started(plans, action=Action.PAUSE, **PLANS)
    assert (paused.state, paused.counts) == ("DONE", {Outcome.DONE: 30})
    assert states(service) == {State.PAUSED}
    assert set(coming(service)) == {RunState.SKIPPED}
    assert {each.reason for each in service.definitions._kept.values()} == {"it is back"}
    resumed = service.started(plans, action=Action.RESUME, **PLANS)
    assert resumed.counts == {Outcome.DONE: 30}
    assert states(service) == {State.ACTIVE}
    assert coming(service).count(RunState.PENDING) == 30


def test_a_cancelled_plan_has_no_run_to_come(service: Service) -> None:
    cancelled = service.started([service.recurring()], action=Action.CANCEL, **PLANS)
    assert cancelled.counts == {Outcome.DONE: 1}
    assert states(service) == {State.CANCELLED}
    assert coming(service) == [RunState.CANCELLED]


@pytest.mark.parametrize(
    ("action", "against"),
    [
        (
            Action.PAUSE,
            {"is PAUSED, not ACTIVE": 1, "is FINISHED, not ACTIVE": 1, "is CANCELLED, not ACTIVE": 1},
        ),
        (
            Action.RESUME,
            {"is ACTIVE, not PAUSED": 1, "is FINISHED, not PAUSED": 1, "is CANCELLED, not PAUSED": 1},
        ),
        (Action.CANCEL, {"is CANCELLED, not ACTIVE or FINISHED or PAUSED": 1}),
    ],
)
def test_the_table_of_actions_says_which_plans_are_eligible(
    service: Service, action: Action, against: dict[str, int]
) -> None:
    plans = [service.recurring(number, state) for number, state in enumerate(State, start=1)]
    planned = service.plan(plans, action=action, **PLANS)
    assert planned.eligible == 4 - sum(against.values())
    assert planned.not_eligible == against
    assert planned.by_failure == {}
    assert sum(planned.by_destination.values()) == planned.eligible


def test_a_plan_that_changed_after_the_plan_of_the_operation_is_left_alone(service: Service) -> None:
    one, other = service.recurring(1), service.recurring(2)
    planned = service.plan([one, other], action=Action.CANCEL, **PLANS)
    service.changer.pause("demo", one.id, reason="by hand")
    service.planner.start(a_caller(), planned.id)
    service.machine.run()
    done = service.planner.load("demo", planned.id)
    assert done.counts == {Outcome.CHANGED: 1, Outcome.DONE: 1}
    assert service.definitions._kept[one.id].state is State.PAUSED


def test_a_plan_that_a_person_changes_while_a_slice_is_at_work_is_left_alone(service: Service) -> None:
    plan = service.recurring()
    planned = service.plan([plan], action=Action.CANCEL, **PLANS)
    actor = service.conductor.actors[Kind.PLANS]
    read = actor.known([plan.id])
    service.changer.pause("demo", plan.id, reason="by hand")
    assert actor.act(planned, [*read.values()], now=service.clock.now()) == {plan.id: Outcome.CHANGED}
    assert states(service) == {State.PAUSED}


def test_a_slice_that_is_repeated_finds_its_changes_made(service: Service) -> None:
    """The worker died after the second of three changes."""
    plans = [service.recurring(number) for number in range(1, 4)]
    planned = service.plan(plans, action=Action.PAUSE, **PLANS)
    actor = service.conductor.actors[Kind.PLANS]
    entries = [Entry(id=each.id, version=each.version) for each in plans]
    acted(actor, planned, entries[:2], now=service.clock.now())
    again = acted(actor, planned, entries, now=service.clock.now())
    assert {entry.outcome for entry in again} == {Outcome.DONE}
    assert {each.version for each in service.definitions._kept.values()} == {2}


def test_a_plan_without_a_run_left_cannot_be_resumed(service: Service) -> None:
    plan = service.recurring(1, State.PAUSED)
    ended = replace(plan.schedule, end_at=service.clock.now() + timedelta(minutes=1))
    service.definitions._kept[plan.id] = replace(plan, schedule=ended)
    done = service.started([plan], action=Action.RESUME, **PLANS)
    assert done.counts == {Outcome.FAILED: 1}
    assert states(service) == {State.PAUSED}


def test_a_plan_that_cannot_be_read_is_no_plan_that_is_missing(service: Service) -> None:
    plan = service.recurring()
    service.definitions.unreadable.add(plan.id)
    with pytest.raises(Unavailable):
        service.plan([plan], action=Action.PAUSE, **PLANS)


def test_another_tenants_plan_does_not_exist(service: Service) -> None:
    plan = service.recurring()
    service.definitions._kept[plan.id] = replace(plan, tenant="other")
    assert service.plan([plan], action=Action.PAUSE, **PLANS).not_eligible == {"does not exist": 1}


def test_plans_need_the_right_to_change_tasks(service: Service) -> None:
    asked = OperationRequest(action=Action.PAUSE, kind=Kind.PLANS, actor="key", reason="a test")
    with pytest.raises(Forbidden):
        service.planner.plan(a_caller("demo", "payments:write"), asked, [service.recurring().id])


def test_a_filter_names_plans_by_name_tag_state_and_destination(service: Service) -> None:
    one = service.recurring(1, tags=("night",), name="close")
    paused = service.recurring(2, State.PAUSED, tags=("night",))
    service.recurring(3)
    find = service.planner.finder.find

    def found(action: Action, **fields: Any) -> list[str]:
        return [each.id for each in find("demo", action, Kind.PLANS, ItemFilter(**fields)).items]

    assert found(Action.PAUSE, tag="night") == [one.id]
    assert found(Action.CANCEL, name="close") == [one.id]
    assert found(Action.RESUME, tag="night") == [paused.id]
    assert found(Action.CANCEL, status="PAUSED") == [paused.id]
    assert found(Action.PAUSE, tag="night", destination="https://other.example.com") == []
    assert found(Action.PAUSE, tag="night", destination=one.template.destination.address[:12]) == [one.id]
