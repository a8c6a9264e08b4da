"""Tasks that an operator's switch stops: they stay as they are, and their calls are sent again."""

from datetime import timedelta

import pytest

from postdate.domain.due import Via
from postdate.domain.switch import of_target, of_tenant, turned
from postdate.domain.task import State
from tests.unit.doubles import SECOND, START, a_task, message
from tests.unit.run_tasks.conftest import Running


def turn(running: Running, name: str, *, on: bool) -> None:
    before = running.switches.get(name)
    after = turned(before, on=on, now=running.clock.now(), by="key:1", why="test")
    assert running.switches.change(before, after)


@pytest.mark.parametrize("name", [of_tenant("demo"), of_target("webhook")])
def test_a_stopped_task_waits_and_runs_when_the_switch_is_on_again(running: Running, name: str) -> None:
    task = a_task()
    running.stores(task)
    turn(running, name, on=False)
    tally = running.run(message(task, receives=2))
    assert (tally.stopped, tally.claimed, tally.failed_messages) == (1, 0, set())
    assert running.stored(task) == task
    turn(running, name, on=True)
    call = running.arrival()
    assert (call.packet.via, call.repeated) == (Via.SWEEP, True)
    running.run(call)
    assert running.stored(task).state is State.SUCCEEDED
    assert running.stored(task).attempts == 1


@pytest.mark.parametrize("name", [of_tenant("other"), of_target("sqs")])
def test_a_switch_of_others_stops_nothing(running: Running, name: str) -> None:
    task = a_task()
    running.stores(task)
    turn(running, name, on=False)
    running.run(message(task))
    assert running.stored(task).state is State.SUCCEEDED


def test_a_switch_that_is_turned_while_a_worker_waits_stops_its_tasks(running: Running) -> None:
    task = a_task(due_at=START + 3 * SECOND)
    running.stores(task)
    running.tasks.before["get_many"].append(lambda: turn(running, of_tenant("demo"), on=False))
    running.run(message(task))
    assert running.stored(task).state is State.PENDING
    assert len(running.queue.take()) == 1


def test_the_switches_are_read_before_the_instant_and_once(running: Running) -> None:
    task = a_task(due_at=START + 2 * SECOND)
    running.stores(task)
    read_at = []
    ask = running.switches.states
    running.switches.states = lambda names: (read_at.append(running.clock.now()), ask(names))[1]  # type: ignore[method-assign]
    tally = running.run(message(task))
    assert tally.lateness_ms == [0.0]
    assert read_at == [START + 2 * SECOND - timedelta(milliseconds=150)]


def test_tasks_run_while_the_switches_cannot_be_read(running: Running) -> None:
    """Work that waits for nobody's word must not wait for one table."""
    task = a_task()
    running.stores(task)
    running.switches.unreadable = True
    running.run(message(task))
    assert running.stored(task).state is State.SUCCEEDED
