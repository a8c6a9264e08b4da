"""Effect of each action on each kind of item and on its letters; each once, however often a slice is repeated."""

from dataclasses import replace
from typing import Any

import pytest

from functions.api.operations.find import ItemFilter
from functions.operate import task_actor
from functions.operate.actors import acted
from postdate.domain import payment, settlement, transitions
from postdate.domain.due import Due, Via
from postdate.domain.errors import Forbidden, Unavailable
from postdate.domain.operation import Action, Kind, State
from postdate.domain.operation_pages import Entry, Outcome
from postdate.domain.payment import Payment
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import State as TaskState
from postdate.domain.task import Task
from postdate.runtime.dead_letters import Letter
from tests.unit.doubles import MINUTE, a_payment, a_task, in_state
from tests.unit.operate.conftest import Service, a_caller, letter

NEVER_AGAIN = RetryPolicy(max_attempts=1)


def waiting(service: Service, state: TaskState = TaskState.PENDING) -> Task:
    """Due in an hour."""
    task = in_state(state, a_task(5, due_at=service.clock.now() + 60 * MINUTE))
    service.tasks.add([task])
    return task


def parked(service: Service, number: int = 1) -> Payment:
    service.ledger.opens(f"payer-{number}", f"payee-{number}")
    waits = a_payment(number, payer=f"payer-{number}", payee=f"payee-{number}")
    stuck = settlement.stumble(waits, now=waits.due_at, why="no answer", retry=NEVER_AGAIN, draw=0.0).after
    assert stuck is not None
    service.ledger.keeps(stuck)
    return stuck


def test_a_retry_brings_a_waiting_task_forward(service: Service) -> None:
    task = waiting(service)
    operation = service.started([task], action=Action.RETRY)
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.DONE: 1})
    assert [id for _, id in service.delivered] == [task.id]


def test_a_retry_begins_attempts_of_the_dead_anew(service: Service) -> None:
    operation = service.started(service.dead(3), action=Action.RETRY)
    assert operation.counts == {Outcome.DONE: 3}


def run_to_come(service: Service) -> Task:
    service.recurring()
    (run,) = service.tasks._tasks.values()
    return run


def test_a_retry_leaves_the_run_to_come_of_a_plan_alone(service: Service) -> None:
    """The run writes the next one at its own instant only."""
    run = run_to_come(service)
    planned = service.plan([run], action=Action.RETRY)
    assert planned.not_eligible == {"is the run to come of a plan: trigger its task": 1}
    (entry,) = acted(
        service.conductor.actors[Kind.TASKS],
        planned,
        [Entry(id=run.id, version=run.version)],
        now=service.clock.now(),
    )
    assert (entry.outcome, service.tasks.get(run.id)) == (Outcome.CHANGED, run)


def test_a_retry_brings_a_run_forward_that_has_written_the_next_one(service: Service) -> None:
    run = run_to_come(service)
    service.clock.sleep_until(run.due_at)
    waits = transitions.wait(run, now=run.due_at, until=run.due_at + 60 * MINUTE, why="waits")
    service.tasks.commit([waits])
    operation = service.started([waits.after], action=Action.RETRY)
    assert operation.counts == {Outcome.DONE: 1}
    assert [id for _, id in service.delivered] == [run.id]


def test_a_lost_call_of_a_retry_is_left_to_the_sweep(service: Service) -> None:
    task = waiting(service)
    planned = service.plan([task], action=Action.RETRY)
    actor, entry = service.conductor.actors[Kind.TASKS], Entry(id=task.id, version=task.version)
    service.queue.refuses = 1
    with pytest.raises(Unavailable):
        acted(actor, planned, [entry], now=service.clock.now())
    moved = service.tasks.get(task.id)
    assert moved is not None
    assert moved.due_at == service.clock.now()
    slots = [slot for slot, entries in service.tasks._pointers.items() if entries]
    assert [slot.holds(service.clock.now()) for slot in slots] == [True]
    (again,) = acted(actor, planned, [entry], now=service.clock.now())
    assert again.outcome is Outcome.SENT
    assert service.tasks.get(task.id) == moved


def test_a_cancel_ends_what_has_not_begun_and_nothing_else(service: Service) -> None:
    task, (dead,) = waiting(service), service.dead(1)
    planned = service.plan([task, dead], action=Action.CANCEL)
    assert planned.not_eligible == {"is DEAD, not PENDING": 1}
    service.planner.start(a_caller(), planned.id)
    service.machine.run()
    assert service.planner.load("demo", planned.id).counts == {Outcome.DONE: 1}
    assert service.tasks.get(task.id).state is TaskState.CANCELLED  # type: ignore[union-attr]
    entry = Entry(id=task.id, version=task.version)
    (again,) = acted(service.conductor.actors[Kind.TASKS], planned, [entry], now=service.clock.now())
    assert again.outcome is Outcome.DONE


def test_a_task_that_ran_after_the_plan_is_not_cancelled(service: Service) -> None:
    task = waiting(service)
    planned = service.plan([task], action=Action.CANCEL)
    service.clock.sleep_until(task.due_at)
    service._attempt(Due.of(task), service.clock.now())
    service.planner.start(a_caller(), planned.id)
    service.machine.run()
    assert service.planner.load("demo", planned.id).counts == {Outcome.CHANGED: 1}


def test_a_discard_deletes_the_letters_of_its_items_and_no_other(service: Service) -> None:
    dead = service.dead(4)
    for task in dead:
        service.letters.lying[letter(task).id] = letter(task)
    operation = service.started(dead[:2], action=Action.DISCARD)
    assert operation.counts == {Outcome.DONE: 2}
    assert set(service.letters.lying) == {letter(task).id for task in dead[2:]}
    assert {service.tasks.get(task.id) for task in dead} == set(dead)
    assert service.delivered == []


def test_a_discard_tells_which_letters_it_did_not_find(service: Service) -> None:
    dead = service.dead(3)
    service.letters.lying[letter(dead[0]).id] = letter(dead[0])
    operation = service.started(dead, action=Action.DISCARD)
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.DONE: 1, Outcome.MISSING: 2})


def test_a_discard_finds_a_letter_behind_a_thousand_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look hides its letters from the next one."""
    monkeypatch.setattr(task_actor, "LETTERS_MAX", 2)
    dead = service.dead(6)
    hidden: set[str] = set()

    def look(most: int) -> list[Letter]:
        found = [each for id, each in service.letters.lying.items() if id not in hidden][:most]
        hidden.update(each.id for each in found)
        return found

    monkeypatch.setattr(service.letters, "look", look)
    monkeypatch.setattr(
        service.letters, "release", lambda letters: hidden.difference_update(each.id for each in letters)
    )
    for task in dead:
        service.letters.lying[letter(task).id] = letter(task)
    assert service.started(dead[5:], action=Action.DISCARD).counts == {Outcome.DONE: 1}
    assert len(service.letters.lying) == 5
    assert hidden <= {letter(dead[5]).id}


def test_a_letter_that_cannot_be_deleted_is_discarded_by_the_next_try(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (dead,) = service.dead(1)
    service.letters.lying[letter(dead).id] = letter(dead)
    real, refuses = service.letters.delete, [True, True]
    monkeypatch.setattr(
        service.letters, "delete", lambda letters: set() if refuses and refuses.pop() else real(letters)
    )
    assert service.started([dead], action=Action.DISCARD).counts == {Outcome.DONE: 1}
    assert (service.letters.lying, refuses) == ({}, [])


@pytest.mark.parametrize("sent_first", [False, True])
def test_the_attempt_of_somebody_else_is_no_end_of_the_operation(service: Service, sent_first: bool) -> None:
    """A person retries an item of the canary by hand, before the slice or after it: the failure is not the canary's."""
    tasks = service.dead(3)
    planned = service.plan(tasks, canary=1)
    service.idle = True
    service.broken = lambda task: task.id == tasks[0].id

    def by_hand() -> None:
        task = service.tasks.get(tasks[0].id)
        assert task is not None
        service._attempt(Due.of(task), service.clock.now())

    if sent_first:
        service.queue.before.append(by_hand)
    else:
        by_hand()
    service.planner.start(a_caller(), planned.id)
    service.idle = False
    service.machine.run()
    operation = service.planner.load("demo", planned.id)
    assert operation.counts == {Outcome.CHANGED: 1, Outcome.DONE: 2}
    assert operation.state is State.DONE


def test_a_redrive_takes_the_letters_that_it_used_up(service: Service) -> None:
    dead = service.dead(4)
    for task in dead:
        service.letters.lying[letter(task).id] = letter(task)
    service.started(dead[:3])
    assert set(service.letters.lying) == {letter(dead[3]).id}


@pytest.mark.parametrize(("is_ours", "counted"), [(True, Outcome.DONE), (False, Outcome.CHANGED)])
def test_a_parked_payment_is_called_at_its_version(service: Service, is_ours: bool, counted: Outcome) -> None:
    stuck = parked(service)
    planned = service.plan([stuck], kind=Kind.PAYMENTS)
    assert (planned.eligible, planned.amount) == (1, stuck.amount)
    service.planner.start(a_caller(), planned.id)
    service.conductor.work(planned.id, run=1)
    ((packet, _),) = service.payment_queue.take()
    assert (packet.via, packet.dues) == (Via.DEAD, (Due.of(stuck),))
    settled = settlement.settle(stuck, now=service.clock.now())
    service.ledger.post([settled.signed(by := packet.by if is_ours else "function:settle")])
    assert by == planned.author or not is_ours
    service.machine.run()
    assert service.planner.load("demo", planned.id).counts == {counted: 1}


@pytest.mark.parametrize("action", [Action.REDRIVE, Action.RETRY])
def test_a_tenant_has_its_parked_payments_tried_again(service: Service, action: Action) -> None:
    """The settlement checks the books again, so an attempt decides nothing."""
    stuck = parked(service)
    asked = service.plan([stuck], kind=Kind.PAYMENTS, action=action, operates=False)
    assert (asked.eligible, asked.not_eligible) == (1, {})


def test_a_parked_payment_is_an_operators_to_cancel(service: Service) -> None:
    stuck = parked(service)
    asked = service.plan([stuck], kind=Kind.PAYMENTS, action=Action.CANCEL, operates=False)
    assert asked.not_eligible == {"is parked: only an operator may cancel it": 1}
    done = service.started([stuck], kind=Kind.PAYMENTS, action=Action.CANCEL, operates=True)
    assert done.counts == {Outcome.DONE: 1}
    assert service.ledger.payment(stuck.id).state is payment.State.CANCELLED  # type: ignore[union-attr]
    assert service.ledger.account("demo", stuck.payer).reserved == 0  # type: ignore[union-attr]


def test_a_key_changes_only_what_it_may(service: Service) -> None:
    stuck = parked(service)
    request = service.plan([stuck], kind=Kind.PAYMENTS).request
    with pytest.raises(Forbidden):
        service.planner.plan(a_caller("demo", "tasks:write"), request, [stuck.id])


def test_a_letter_of_several_items_is_written_anew_for_those_that_stay(service: Service) -> None:
    first, second = service.dead(2)
    both = replace(letter(first), dues=(Due.of(first), Due.of(second)))
    service.letters.lying[both.id] = both
    service.started([first], action=Action.DISCARD)
    assert service.letters.lying == {}
    assert [packet.dues for packet in service.rewritten.packets] == [(Due.of(second),)]


def test_five_hundred_items_are_named_by_a_filter(service: Service) -> None:
    tasks = service.dead(500)
    request = service.plan(tasks[:1]).request
    planned = service.planner.plan(a_caller(), request, ItemFilter(status="DEAD"))
    assert (planned.eligible, planned.evaluated, planned.pages) == (500, 500, 20)
    service.planner.start(a_caller(), planned.id)
    service.machine.run()
    assert service.planner.load("demo", planned.id).counts == {Outcome.DONE: 500}
    assert len(service.delivered) == 500


@pytest.mark.parametrize("change", ["start", "resume", "stop"])
@pytest.mark.parametrize("operates", [False, True])
def test_a_key_begins_and_stops_only_what_it_may_plan(service: Service, change: str, operates: bool) -> None:
    planned = service.plan([parked(service)], kind=Kind.PAYMENTS, operates=operates)
    tasks = service.plan(service.dead(1), operates=False)
    changes = getattr(service.planner, change)
    with pytest.raises(Forbidden, match="payments:write"):
        changes(a_caller("demo", "operations:write", "tasks:write"), planned.id)
    with pytest.raises(Forbidden, match="tasks:write"):
        changes(a_caller("demo", "operations:write", "payments:write"), tasks.id)
    tenants = a_caller("demo", "operations:write", "tasks:write", "payments:write")
    if operates:
        with pytest.raises(Forbidden, match="ops"):
            changes(tenants, planned.id)
    if change != "stop":
        bound: Any = replace(tenants, key_id="other", accounts=frozenset({"a"}))
        with pytest.raises(Forbidden):
            changes(bound, tasks.id)
        with pytest.raises(Forbidden):
            changes(replace(bound, scopes=a_caller().scopes), planned.id)
    assert service.machine.waiting == {}
    assert service.planner.load("demo", planned.id) == planned


def test_a_bound_key_begins_what_it_planned(service: Service) -> None:
    bound = replace(a_caller("demo", "tasks:write"), accounts=frozenset({"a"}))
    planned = service.plan(service.dead(1), operates=False, actor=bound.key_id)
    assert service.planner.start(bound, planned.id).state is State.RUNNING


def test_operations_on_payments_are_shown_to_those_who_may_read_payments(service: Service) -> None:
    planned = service.plan([parked(service)], kind=Kind.PAYMENTS)
    some, all_ = a_caller("demo", "tasks:read"), a_caller("demo", "tasks:read", "payments:read")
    with pytest.raises(Forbidden):
        service.planner.shown(some, planned.id)
    assert service.planner.shown(all_, planned.id) == planned
    assert (service.planner.shows(some, planned), service.planner.shows(all_, planned)) == (False, True)


@pytest.mark.parametrize("action", [Action.CANCEL, Action.RETRY])
def test_an_operation_signs_the_changes_that_it_writes(service: Service, action: Action) -> None:
    task = waiting(service)
    operation = service.plan([task], action=action)
    service.idle = True
    service.planner.start(a_caller(), operation.id)
    service.conductor.work(operation.id, run=1)
    changed = service.tasks.get(task.id)
    assert changed is not None
    assert changed.history[-1].by == f"operation:{operation.id}"


def test_a_cancel_of_a_payment_is_signed_by_its_operation(service: Service) -> None:
    stuck = parked(service)
    operation = service.started([stuck], kind=Kind.PAYMENTS, action=Action.CANCEL)
    assert service.ledger.payment(stuck.id).history[-1].by == f"operation:{operation.id}"  # type: ignore[union-attr]


def test_a_report_names_the_most_common_destinations_without_their_queries(service: Service) -> None:
    tasks = [
        replace(task, destination=replace(task.destination, address=f"https://a.example/{n % 40}?token={n}"))
        for n, task in enumerate(service.dead(60))
    ]
    service.tasks = service.tasks.__class__()
    service.tasks.add(tasks)
    planner = replace(service.planner, tasks=service.tasks)
    request = service.plan([]).request
    told = planner.plan(a_caller(), request, [task.id for task in tasks]).by_destination
    assert len(told) == 21
    assert (told["https://a.example/0"], told["others"], sum(told.values())) == (2, 20, 60)
    assert not [name for name in told if "token" in name]


def test_a_report_cuts_long_addresses(service: Service) -> None:
    (task,) = service.dead(1)
    long = replace(
        task, id=task.id, destination=replace(task.destination, address="https://a/" + "b" * 2_000)
    )
    planner = replace(service.planner, tasks=service.tasks.__class__())
    planner.tasks.add([long])
    (name,) = planner.plan(a_caller(), service.plan([]).request, [long.id]).by_destination
    assert len(name) == 200
