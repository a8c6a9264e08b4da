"""One fault at each call that an operation makes: its worker dies before or after the call, or the call fails. Each
item is acted on exactly once all the same. Planted mistakes show that this can fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from functions.operate import actors, task_actor
from functions.operate.work import Work
from postdate.domain.errors import Unavailable
from postdate.domain.operation import Kind, State
from postdate.domain.operation_pages import Entry, Outcome, Page
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import State as TaskState
from postdate.domain.task import Task
from tests.unit.doubles import SECOND, START, a_task, in_state
from tests.unit.operate.conftest import Service, a_caller

ITEMS: Final = 27
FAULTS: Final = ("dies before", "dies after", "fails", "answer is lost")


class Dies(BaseException):
    """The worker is killed, and its execution with it."""


class Faulty:
    """Counts the calls of a store or a queue, together with those of the others, and fails at one of them."""

    def __init__(self, of: Any, plan: "Fault") -> None:
        self._of = of
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        made = getattr(self._of, name)

        def call(*given: Any, **named: Any) -> Any:
            return self._plan.at(lambda: made(*given, **named))

        return call


class Fault:
    def __init__(self, kind: str, place: int) -> None:
        self._kind = kind
        self._place = place
        self.calls = 0

    def at(self, call: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.calls != self._place:
            return call()
        if self._kind == "dies before":
            raise Dies
        if self._kind == "fails":
            raise Unavailable
        answer = call()
        if self._kind == "dies after":
            raise Dies
        if self._kind == "answer is lost":
            raise Unavailable
        return answer


def dead(*, again: bool) -> list[Task]:
    """`again`: their next attempt fails as well, and is the last."""
    retry = RetryPolicy(max_attempts=1 if again else 5)
    return [in_state(TaskState.DEAD, a_task(100 + number, retry=retry)) for number in range(ITEMS)]


def carried_out(kind: str, place: int, *, again: bool, idle: bool) -> tuple[Service, int]:
    """An operation to its end, with that fault at that call. `idle` workers find all calls half a minute later."""
    service, fault = Service(), Fault(kind, place)
    service.broken = lambda task: again

    def work() -> None:
        service.idle = idle and service.clock.now() < START + 30 * SECOND
        service.work()

    service.clock.workers = work
    tasks = dead(again=again)
    service.tasks.add(tasks)
    actor = service.conductor.actors[Kind.TASKS]
    assert isinstance(actor, task_actor.TaskActor)
    faulty = replace(
        actor,
        **{name: Faulty(getattr(actor, name), fault) for name in ("tasks", "queue", "letters")},
    )
    service.conductor = replace(
        service.conductor,
        operations=Faulty(service.operations, fault),  # type: ignore[arg-type]
        actors={Kind.TASKS: faulty},
    )
    planned = service.plan(tasks, max_per_second=100)
    service.planner.start(a_caller(), planned.id)
    try:
        service.machine.run()
    except Dies:
        if service.planner.load("demo", planned.id).state is not State.DONE:
            service.planner.resume(a_caller(), planned.id)
    service.machine.run()
    operation = service.planner.load("demo", planned.id)
    ids = [id for _, id in service.delivered]
    assert sorted(ids) == sorted(task.id for task in tasks), "each item is acted on once"
    wanted = Outcome.FAILED if again else Outcome.DONE
    assert (operation.state, operation.counts) == (State.DONE, {wanted: ITEMS})
    return service, fault.calls


def places(*, again: bool, idle: bool) -> range:
    _, calls = carried_out("none", 0, again=again, idle=idle)
    assert calls > ITEMS / 2
    return range(1, calls + 1)


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("again", [False, True], ids=["succeed", "die again"])
def test_each_item_is_acted_on_once_whatever_fails(kind: str, again: bool) -> None:
    for idle in (False, True):
        for place in places(again=again, idle=idle):
            carried_out(kind, place, again=again, idle=idle)


def test_the_version_of_the_plan_is_missed_when_it_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: an item is redriven at whatever version it has now."""
    real = actors.acted

    def acted(actor: Any, operation: Any, entries: Any, **named: Any) -> list[Entry]:
        known = actor.known(each.id for each in entries)
        return real(
            actor, operation, [replace(each, version=known[each.id].version) for each in entries], **named
        )

    monkeypatch.setattr(actors, "acted", acted)
    assert finds("dies after", again=True)


def test_a_record_before_the_act_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a slice says that it was sent before it is."""
    real = Work._act

    def act(self: Any, page: Page, entries: list[Entry]) -> None:
        self._record(
            page.changed(replace(each, outcome=Outcome.SENT, at=self._clock.now()) for each in entries)
        )
        written = self._pages[page.number]
        self._pages[page.number] = written
        real(self, written, entries)

    monkeypatch.setattr(Work, "_act", act)
    assert finds("dies before", again=False)


def finds(kind: str, *, again: bool) -> bool:
    """True if a fault at some call breaks the promise."""
    for place in range(1, 40):
        try:
            carried_out(kind, place, again=again, idle=False)
        except AssertionError:
            return True
    return False
