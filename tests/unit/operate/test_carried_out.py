"""An operation acts on each of its items once, at its rate, and stops when it should, whatever dies in between."""

from dataclasses import replace

import pytest

from functions.operate import handler as operate
from postdate.domain import operation as rules
from postdate.domain.errors import InvalidState, NotFound, Unavailable
from postdate.domain.operation import ROUNDS_MAX, Kind, State
from postdate.domain.operation_moves import stopped
from postdate.domain.operation_pages import Outcome
from postdate.domain.operation_seats import RUNNING_MAX
from postdate.domain.parameters import DEFAULTS, Operating
from postdate.domain.task import State as TaskState
from tests.unit.doubles import SECOND
from tests.unit.operate.conftest import Service, a_caller, rule


def test_five_hundred_dead_tasks_are_redriven_at_fifty_a_second_each_once(service: Service) -> None:
    tasks = service.dead(500)
    operation = service.started(tasks, max_per_second=50)
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.DONE: 500})
    ids = [id for _, id in service.delivered]
    assert sorted(ids) == sorted(task.id for task in tasks)
    took = service.delivered[-1][0] - service.delivered[0][0]
    assert 9.5 * SECOND <= took <= 12 * SECOND
    for second in range(10):
        begun = service.delivered[0][0] + second * SECOND
        assert sum(begun <= at < begun + SECOND for at, _ in service.delivered) <= 60


@pytest.mark.parametrize("most", [10, 100])
def test_operators_slow_down_an_operation_that_runs(service: Service, most: int) -> None:
    """To a pace at which the machine waits, and to one at which the function does."""
    tasks = service.dead(300)
    planned = service.plan(tasks, max_per_second=500)
    service.parameters.values = replace(DEFAULTS, operating=Operating(items_a_second_max=most))
    service.planner.start(a_caller(), planned.id)
    service.machine.run()
    operation = service.planner.load("demo", planned.id)
    assert (operation.state, operation.request.max_per_second) == (State.DONE, 500)
    assert sorted(id for _, id in service.delivered) == sorted(task.id for task in tasks)
    took = service.delivered[-1][0] - service.delivered[0][0]
    assert took >= (300 / most - 1.5) * SECOND


def test_a_plan_acts_on_nothing(service: Service) -> None:
    planned = service.plan(service.dead(3))
    service.machine.run()
    assert (planned.state, planned.eligible, service.queue.sent) == (State.PLANNED, 3, [])


def test_items_that_the_action_is_not_for_are_counted_by_reason(service: Service) -> None:
    dead = service.dead(2)
    waiting = service.tasks.get(service.dead(1, first=50)[0].id)
    assert waiting is not None
    planned = service.planner.plan(a_caller("other"), service.plan(dead).request, [dead[0].id])
    assert planned.not_eligible == {"does not exist": 1}


def test_a_canary_that_fails_stops_the_operation_after_its_items(service: Service) -> None:
    tasks = service.dead(40)
    service.broken = lambda task: True
    operation = service.started(tasks, canary=3)
    assert operation.state is State.STOPPED
    assert operation.counts == {Outcome.FAILED: 3, Outcome.WAITING: 37}
    assert len(service.delivered) == 3


def test_a_canary_that_ends_well_lets_the_others_follow(service: Service) -> None:
    operation = service.started(service.dead(40), canary=3)
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.DONE: 40})


def test_the_others_wait_while_the_canary_is_on(service: Service) -> None:
    tasks, seen = service.dead(40), list[tuple[State, int]]()
    service.idle = True

    def look() -> None:
        operation = service.planner.load("demo", planned.id)
        seen.append((operation.state, len(service.queue.ids)))
        service.idle = len(seen) < 5
        service.work()

    planned = service.plan(tasks, canary=3)
    service.clock.workers = look
    service.planner.start(a_caller(), planned.id)
    service.machine.run()
    assert (State.PAUSED, 3) in seen
    assert all(sent <= 3 for state, sent in seen if state is State.PAUSED)
    assert service.planner.load("demo", planned.id).state is State.DONE


def test_the_stop_rule_stops_at_its_share(service: Service) -> None:
    tasks = service.dead(300)
    third = {task.id for task in sorted(tasks, key=lambda task: task.id)[::3]}
    service.broken = lambda task: task.id in third
    operation = service.started(tasks, max_per_second=20, stop_when=rule(0.3))
    assert operation.state is State.STOPPED
    assert 10 <= len(service.delivered) <= 60


def test_below_its_share_the_stop_rule_stops_nothing(service: Service) -> None:
    tasks = service.dead(300)
    fifth = {task.id for task in sorted(tasks, key=lambda task: task.id)[::5]}
    service.broken = lambda task: task.id in fifth
    operation = service.started(tasks, max_per_second=100, stop_when=rule(0.3))
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.DONE: 240, Outcome.FAILED: 60})


@pytest.mark.parametrize("dies_before", ["act", "change_page", "change"])
@pytest.mark.parametrize("slice", [0, 1, 7])
def test_a_machine_that_is_killed_goes_on_and_begins_no_attempt_twice(
    service: Service, monkeypatch: pytest.MonkeyPatch, dies_before: str, slice: int
) -> None:
    """Workers are slow: they find all calls after the second execution has begun."""
    tasks = service.dead(100)
    service.idle = True
    planned = service.plan(tasks)
    service.planner.start(a_caller(), planned.id)
    owner = service.conductor.actors[Kind.TASKS] if dies_before == "act" else service.operations
    real, calls = getattr(type(owner), dies_before), [0]

    def dies(self: object, *given: object, **named: object) -> object:
        calls[0] += 1
        if calls[0] == slice + 1:
            raise KeyboardInterrupt
        return real(self, *given, **named)

    monkeypatch.setattr(type(owner), dies_before, dies)
    with pytest.raises(KeyboardInterrupt):
        service.machine.run()
    service.planner.resume(a_caller(), planned.id)
    service.idle = False
    service.machine.run()
    operation = service.planner.load("demo", planned.id)
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.DONE: 100})
    assert sorted(id for _, id in service.delivered) == sorted(task.id for task in tasks)


def test_a_task_that_died_again_after_the_plan_is_left_alone(service: Service) -> None:
    first, second = service.dead(2)
    planned = service.plan([first, second])
    service.broken = lambda task: True
    other = service.plan([first])
    service.planner.start(a_caller(), other.id)
    service.machine.run()
    while service.tasks.get(first.id).state is not TaskState.DEAD:  # type: ignore[union-attr]
        service.clock.move(60 * SECOND)
        task = service.tasks.get(first.id)
        assert task is not None
        service._attempt(type(service).due(task), service.clock.now())
    service.delivered.clear()
    service.planner.start(a_caller(), planned.id)
    service.machine.run()
    assert [id for _, id in service.delivered] == [second.id]


def test_an_operation_can_be_stopped_and_resumed(service: Service) -> None:
    tasks = service.dead(200)
    planned = service.plan(tasks, max_per_second=20)
    service.planner.start(a_caller(), planned.id)

    def stop_midway() -> None:
        service.work()
        if len(service.delivered) >= 60 and not stopped:
            stopped.append(service.planner.stop(a_caller(), planned.id))

    stopped: list[object] = []
    service.clock.workers = stop_midway
    service.machine.run()
    assert service.planner.load("demo", planned.id).state is State.STOPPED
    assert 60 <= len(service.delivered) <= 66
    service.planner.resume(a_caller(), planned.id)
    service.machine.run()
    assert service.planner.load("demo", planned.id).counts == {Outcome.DONE: 200}
    assert len(service.delivered) == 200


def test_an_execution_that_was_replaced_does_nothing(service: Service) -> None:
    planned = service.plan(service.dead(30))
    service.planner.start(a_caller(), planned.id)
    service.planner.resume(a_caller(), planned.id)
    assert service.conductor.work(planned.id, run=1) is None
    assert service.queue.sent == []
    assert service.conductor.work(planned.id, run=2) is not None


def test_an_execution_whose_start_was_not_recorded_says_so_itself(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = service.plan(service.dead(30))

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(service.operations, "change", dies)
        with pytest.raises(KeyboardInterrupt):
            service.planner.start(a_caller(), planned.id)
    service.machine.run()
    assert service.planner.load("demo", planned.id).state is State.DONE


def test_ends_that_stay_unknown_are_told_as_open(service: Service) -> None:
    service.idle = True
    operation = service.started(service.dead(3))
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.SENT: 3})


def test_an_operation_of_more_rounds_than_an_execution_may_have_goes_on_in_the_next(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operate, "ROUNDS_MAX", 10)
    tasks = service.dead(25)
    operation = service.started(tasks, max_per_second=1)
    assert (operation.state, operation.counts) == (State.DONE, {Outcome.DONE: 25})
    assert sorted(id for _, id in service.delivered) == sorted(task.id for task in tasks)
    assert list(service.machine.status) == [f"{operation.id}-{run}" for run in (1, 2, 3)]
    assert service.delivered[-1][0] - service.delivered[0][0] >= 24 * SECOND


def test_the_last_round_of_an_execution_is_repeated_when_the_next_execution_cannot_begin(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = service.plan(service.dead(30), max_per_second=1)
    service.planner.start(a_caller(), planned.id)
    event = {"operation_id": planned.id, "run": 1, "rounds": ROUNDS_MAX - 1}

    def refuses(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patched:
        patched.setattr(type(service.machine), "start", refuses)
        with pytest.raises(Unavailable):
            service.operate(event)
    assert service.operate(event)["goes_on"] is False
    service.machine.run()
    assert service.planner.load("demo", planned.id).counts == {Outcome.DONE: 30}
    assert len(service.delivered) == 30


def test_an_operation_that_has_run_for_a_day_stops_and_can_be_resumed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "RUNS_FOR", 300 * SECOND)
    planned = service.plan(service.dead(3), canary=2)
    service.planner.start(a_caller(), planned.id)
    service.idle = True
    service.machine.run()
    stopped = service.planner.load("demo", planned.id)
    assert (stopped.state, stopped.why) == (State.STOPPED, "worked for a day: resume it")
    assert stopped.started_at is not None
    assert 300 * SECOND <= stopped.changed_at - stopped.started_at <= 360 * SECOND
    assert service.planner.resume(a_caller(), planned.id).state is State.RUNNING


def test_an_ended_operation_can_neither_be_started_nor_stopped_nor_resumed(service: Service) -> None:
    operation = service.started(service.dead(1))
    for change in (service.planner.start, service.planner.resume):
        with pytest.raises(InvalidState):
            change(a_caller(), operation.id)
    with pytest.raises(InvalidState):
        service.planner.stop(a_caller(), operation.id)
    with pytest.raises(NotFound):
        service.planner.load("other", operation.id)


def test_a_record_of_another_version_is_not_written(service: Service) -> None:
    planned = service.plan(service.dead(1))
    behind = stopped(planned, now=service.clock.now(), why="a")
    assert service.operations.change(stopped(planned, now=service.clock.now(), why="b"))
    assert not service.operations.change(behind)


def test_each_edge_of_the_machine_is_walked(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.started(service.dead(300), canary=2)
    service.idle = True
    service.started(service.dead(1, first=10))
    broken = service.plan(service.dead(5, first=20))
    service.planner.start(a_caller(), broken.id)

    def refuses(*_: object, **__: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patched:
        patched.setattr(type(service.conductor), "work", refuses)
        real, failures = service.conductor.abort, [Unavailable()]

        def abort(self: object, *given: str, **named: object) -> None:
            if failures:
                raise failures.pop()
            real(*given, **named)  # type: ignore[arg-type]

        patched.setattr(type(service.conductor), "abort", abort)
        service.machine.run()
    aborted = service.planner.load("demo", broken.id)
    assert aborted.state is State.ABORTED
    assert aborted.why is not None
    assert aborted.why == "Unavailable"
    throttle(service, monkeypatch)
    assert service.machine.edges - service.machine.walked == set()
    assert "FAILED" in service.machine.status.values()


def throttle(service: Service, monkeypatch: pytest.MonkeyPatch) -> State:
    """Lambda refuses all calls of `work`. Answers the state in which the operation ends."""
    tried = service.plan(service.dead(2, first=500))
    service.planner.start(a_caller(), tried.id)
    refused = type("Lambda.TooManyRequestsException", (Exception,), {})
    real = service.machine.calls["Operate"]
    failures = [refused()]

    def call(event: dict[str, object]) -> object:
        if "error" not in event:
            raise refused("the account's secret cause")
        if failures:
            raise failures.pop()
        return real(event)

    with monkeypatch.context() as patched:
        patched.setattr(service.machine, "calls", {"Operate": call})
        service.machine.run()
    after = service.planner.load("demo", tried.id)
    assert "secret" not in (after.why or "")
    return after.state


def test_an_operation_that_is_throttled_stops_and_can_be_resumed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert throttle(service, monkeypatch) is State.STOPPED
    (id,) = service.operations.listed("demo", before="", limit=9)
    service.planner.resume(a_caller(), id)
    service.machine.run()
    assert service.planner.load("demo", id).counts == {Outcome.DONE: 2}


@pytest.mark.parametrize("rate", [1, 3, 20, 25])
def test_the_machine_waits_for_a_slow_operation_and_no_function_sleeps(
    service: Service, monkeypatch: pytest.MonkeyPatch, rate: int
) -> None:
    tasks, real, asleep = service.dead(rate * 6), service.machine.calls["Operate"], [0 * SECOND]

    def call(event: dict[str, object]) -> object:
        began = service.clock.now()
        answer = real(event)
        asleep[0] += service.clock.now() - began
        service.work()
        return answer

    monkeypatch.setattr(service.machine, "calls", {"Operate": call})
    assert service.started(tasks, max_per_second=rate).counts == {Outcome.DONE: rate * 6}
    assert asleep[0] < SECOND
    instants = sorted(at for at, _ in service.delivered)
    assert all(sum(at <= each < at + SECOND for each in instants) <= rate for at in instants)
    assert instants[-1] - instants[0] <= 6 * SECOND


def test_a_tenant_runs_so_many_operations_at_a_time(service: Service) -> None:
    """A plan that was refused starts once another has ended."""
    planned = [service.plan(service.dead(1, first=10 * n)) for n in range(1, RUNNING_MAX + 3)]
    for each in planned[:RUNNING_MAX]:
        service.planner.start(a_caller(), each.id)
    for again in (planned[RUNNING_MAX], planned[RUNNING_MAX + 1]):
        with pytest.raises(InvalidState, match="stays PLANNED"):
            service.planner.start(a_caller(), again.id)
    service.planner.start(a_caller(), planned[0].id)
    service.planner.resume(a_caller(), planned[0].id)
    service.planner.stop(a_caller(), planned[1].id)
    service.planner.start(a_caller(), planned[RUNNING_MAX].id)
    with pytest.raises(InvalidState, match="stays STOPPED"):
        service.planner.resume(a_caller(), planned[1].id)
    service.machine.run()
    service.planner.resume(a_caller(), planned[1].id)


def test_a_start_that_failed_holds_its_seat_for_a_minute_only(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = [service.plan(service.dead(1, first=10 * n)) for n in range(1, RUNNING_MAX + 2)]

    def refuses(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patched:
        patched.setattr(type(service.machine), "start", refuses)
        for each in planned[:RUNNING_MAX]:
            with pytest.raises(Unavailable):
                service.planner.start(a_caller(), each.id)
    with pytest.raises(InvalidState):
        service.planner.start(a_caller(), planned[RUNNING_MAX].id)
    service.clock.move(60 * SECOND)
    assert service.planner.start(a_caller(), planned[RUNNING_MAX].id).state is State.RUNNING
