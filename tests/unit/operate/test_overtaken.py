"""Two that change one operation at once: its counts stay true, and it never stays RUNNING without an execution."""

from datetime import timedelta
from typing import Any

import pytest

from postdate.domain import operation_counts
from postdate.domain.operation import Operation, State
from postdate.domain.operation_pages import Outcome, Page
from tests.unit.operate.conftest import Service, a_caller


def counted(service: Service, operation: Operation) -> dict[Outcome, int]:
    return operation_counts.counted(service.operations.pages(operation, first=0, limit=operation.pages))


def test_an_execution_goes_on_when_the_api_notes_its_start_first(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = service.plan(service.dead(3))
    service.planner.start(a_caller(), planned.id)
    service.clock.move(timedelta(seconds=1))
    known, seen = service.operations.get, [planned]
    monkeypatch.setattr(service.operations, "get", lambda id: seen.pop() if seen else known(id))
    assert service.conductor.work(planned.id, run=1) == 1
    service.machine.run()
    assert service.planner.load("demo", planned.id).state is State.DONE


@pytest.mark.parametrize("call", ["change", "change_page"])
def test_an_invocation_that_another_one_of_its_run_overtakes_goes_on(
    service: Service, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    planned = service.plan(service.dead(3))
    service.planner.start(a_caller(), planned.id)
    really, refuses = getattr(service.operations, call), [True]

    def once(*given: Any) -> bool:
        return not refuses.pop() if refuses else really(*given)

    monkeypatch.setattr(service.operations, call, once)
    service.machine.run()
    done = service.planner.load("demo", planned.id)
    assert (done.state, done.counts) == (State.DONE, {Outcome.DONE: 3})
    assert len(service.delivered) == 3


def test_a_stop_within_a_slice_leaves_the_counts_of_what_was_sent(service: Service) -> None:
    service.idle = True
    planned = service.plan(service.dead(60))
    service.planner.start(a_caller(), planned.id)
    service.queue.before.append(lambda: service.planner.stop(a_caller(), planned.id))
    service.machine.run()
    stopped = service.planner.load("demo", planned.id)
    assert stopped.state is State.STOPPED
    assert stopped.counts == counted(service, stopped)
    assert stopped.counts[Outcome.SENT] > 0


def test_a_stop_after_a_crash_within_a_slice_leaves_true_counts(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies when the page is recorded and its items are not counted, and a person stops the operation before
    the machine tries again."""
    service.idle = True
    planned = service.plan(service.dead(3))
    service.planner.start(a_caller(), planned.id)
    really = service.operations.change_page

    def dies(page: Page) -> bool:
        really(page)
        raise KeyboardInterrupt

    monkeypatch.setattr(service.operations, "change_page", dies)
    with pytest.raises(KeyboardInterrupt):
        service.conductor.work(planned.id, run=1)
    service.planner.stop(a_caller(), planned.id)
    assert service.conductor.work(planned.id, run=1) is None
    stopped = service.planner.load("demo", planned.id)
    assert stopped.state is State.STOPPED
    assert stopped.counts == counted(service, stopped) == {Outcome.SENT: 3}


def test_a_stop_holds_for_an_execution_that_was_begun_and_is_not_noted(service: Service) -> None:
    """The API dies between the start of the execution and its note."""
    planned = service.plan(service.dead(3))
    stopped = service.planner.stop(a_caller(), planned.id)
    assert service.conductor.work(planned.id, run=planned.run + 1) is None
    assert service.planner.load("demo", planned.id) == stopped
    assert service.delivered == []
    service.planner.resume(a_caller(), planned.id)
    service.machine.run()
    assert service.planner.load("demo", planned.id).state is State.DONE
