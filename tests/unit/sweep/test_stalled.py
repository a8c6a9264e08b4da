"""Operations whose execution died are found and continued, and no others."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from functions.sweep.stalled import StalledOperations
from postdate.domain import operation_moves as moves
from postdate.domain.errors import Unavailable
from postdate.domain.operation import STALLED_AFTER, Action, Kind, Operation, OperationRequest, State
from postdate.runtime.machine import MemoryMachine, begin
from postdate.stores.operations import MemoryOperations
from tests.unit.doubles import MINUTE, START, ManualClock

LOOKED_EVERY = 5 * MINUTE


class SilentOperations(MemoryOperations):
    silent = False

    def active(self) -> list[str]:
        if self.silent:
            raise Unavailable
        return super().active()


@dataclass
class Looking:
    operations: SilentOperations = field(default_factory=SilentOperations)
    machine: MemoryMachine = field(default_factory=MemoryMachine)
    clock: ManualClock = field(default_factory=lambda: ManualClock(START + STALLED_AFTER))

    def __post_init__(self) -> None:
        self.stalled = StalledOperations(operations=self.operations, machine=self.machine, clock=self.clock)

    def has(self, number: int = 1, *, state: State = State.RUNNING, dead: bool = True) -> Operation:
        operation = Operation(
            id=f"op_{number}",
            tenant="demo",
            request=OperationRequest(
                action=Action.REDRIVE, kind=Kind.TASKS, actor="key", reason="it is back"
            ),
            state=state,
            version=3,
            created_at=START,
            changed_at=START,
            eligible=0,
            run=1,
        )
        self.operations.add(operation, [])
        begin(self.machine, operation.id, operation.run)
        if dead:
            self.machine.ended.add(f"{operation.id}-1")
        return operation


@pytest.fixture
def looking() -> Looking:
    return Looking()


@pytest.mark.parametrize("state", [State.RUNNING, State.PAUSED])
def test_an_operation_whose_execution_died_goes_on_in_another(looking: Looking, state: State) -> None:
    operation = looking.has(state=state)
    assert looking.stalled.look() == [operation.id]
    assert looking.machine.is_running(f"{operation.id}-2")
    after = looking.operations.get(operation.id)
    assert after is not None
    assert (after.state, after.run) == (State.RUNNING, 2)


def test_an_operation_that_was_never_begun_goes_on_as_well(looking: Looking) -> None:
    operation = looking.has()
    looking.machine.started.clear()
    assert looking.stalled.look() == [operation.id]


def test_an_operation_that_waits_while_its_execution_lives_is_left_alone(looking: Looking) -> None:
    looking.has(dead=False)
    assert looking.stalled.look() == []


def test_an_operation_that_changed_lately_is_left_alone(looking: Looking) -> None:
    operation = looking.has()
    looking.operations.change(replace(operation, version=4, changed_at=START + timedelta(seconds=1)))
    assert looking.stalled.look() == []


@pytest.mark.parametrize("state", sorted(set(State) - {State.RUNNING, State.PAUSED}))
def test_an_operation_that_is_not_under_way_is_left_alone(looking: Looking, state: State) -> None:
    looking.has(state=state)
    assert looking.stalled.look() == []


def test_the_name_of_an_execution_that_died_at_once_is_passed_over(looking: Looking) -> None:
    operation = looking.has()
    begin(looking.machine, operation.id, 2)
    looking.machine.ended.add(f"{operation.id}-2")
    assert looking.stalled.look() == [operation.id]
    assert looking.machine.is_running(f"{operation.id}-3")
    after = looking.operations.get(operation.id)
    assert after is not None
    assert after.run == 3


class StoppingMachine(MemoryMachine):
    """Before it answers for the execution `stops_in`, the operation stops by its rule and that execution ends."""

    stops_in = ""

    def __init__(self, operations: MemoryOperations) -> None:
        super().__init__()
        self.operations = operations

    def is_running(self, name: str) -> bool:
        if name == self.stops_in:
            operation = self.operations.get(name.rpartition("-")[0])
            assert operation is not None
            assert self.operations.change(
                moves.stopped(operation, now=operation.changed_at, why="the canary failed")
            )
            self.ended.add(name)
        return super().is_running(name)


@pytest.mark.parametrize("run", [1, 2], ids=["the old execution", "the new one"])
def test_an_operation_that_stopped_by_itself_is_not_continued(looking: Looking, run: int) -> None:
    operation = looking.has()
    machine = looking.stalled.machine = StoppingMachine(looking.operations)
    machine.stops_in = f"{operation.id}-{run}"
    assert looking.stalled.look() == ([] if run == 1 else [operation.id])
    assert set(machine.started) == ({f"{operation.id}-2"} if run == 2 else set())
    after = looking.operations.get(operation.id)
    assert after is not None
    assert (after.state, after.run) == (State.STOPPED, run)


def test_a_look_is_made_every_five_minutes(looking: Looking) -> None:
    assert looking.stalled.look() == []
    operation = looking.has()
    looking.clock.move(LOOKED_EVERY - timedelta(seconds=1))
    assert looking.stalled.look() == []
    looking.clock.move(timedelta(seconds=1))
    assert looking.stalled.look() == [operation.id]


def test_a_table_that_does_not_answer_stops_no_tick(looking: Looking) -> None:
    operation = looking.has()
    looking.operations.silent = True
    assert looking.stalled.look() == []
    looking.operations.silent = False
    looking.clock.move(LOOKED_EVERY)
    assert looking.stalled.look() == [operation.id]
