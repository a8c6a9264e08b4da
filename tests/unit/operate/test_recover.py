"""The state machine `recover`: each state, each edge, and a crash after each state, with the real handler."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from functions.operate import handler as operate
from functions.operate.recover import LOOKS_MAX, MINUTES_MAX, SPAN_MINUTES, Recoverer
from postdate.domain import instants
from postdate.domain.errors import Unavailable
from postdate.domain.slots import Slot
from postdate.domain.sweeping import AUDITED_AFTER, Groups, Horizon, Stage, SweepProgress, Watermark
from postdate.domain.task import Task
from postdate.domain.task_requests import TOKENS_AHEAD
from postdate.recovery.tokens import Tokens
from postdate.recovery.watermark import CLOCKS_APART
from postdate.stores.passes_memory import MemoryPasses
from tests.integration.world import Context
from tests.machine import RETRY, Interpreted
from tests.unit.doubles import MINUTE, PLAN, SECOND, ManualClock, ScriptedTasks, a_task

TABLES = frozenset({"items", "payments"})
STATES = ("recover_plan", "recover_tokens", "recover_put_back", "recover_look")


class SweptClock(ManualClock):
    """The sweep goes on whenever time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.sweep: Callable[[], object] = lambda: None

    def sleep_until(self, instant: datetime) -> None:
        super().sleep_until(instant)
        self.sweep()


class Outage:
    """An environment whose sweep has stood still for `minutes`. `minutes_a_look` is how fast the sweep catches up."""

    def __init__(self, *, minutes: int = 130, minutes_a_look: int = 50) -> None:
        self.clock = SweptClock()
        self.now = instants.minute_of(self.clock.now())
        self.minutes_a_look = minutes_a_look
        self.passes = MemoryPasses()
        self.tasks = ScriptedTasks()
        self.groups = Groups(shards=PLAN, size=2)
        self.since = self.clock.now() - minutes * MINUTE
        self.passes.raise_watermark(Watermark(minute=self.now - 3, epoch=0, tables=TABLES))
        # The notes say that all was closed, as they do after a restore.
        self._noted(self.now)
        self.clock.sweep = self._sweep
        self.called: list[str] = []
        self.closed = Counter[int]()
        self.recoverer = Recoverer(
            passes=self.passes,
            groups=self.groups,
            tokens=lambda since: Tokens(
                timetable=self.tasks,
                tasks=self.tasks,
                clock=self.clock,
                since=since,  # type: ignore[arg-type]
            ),
            horizon=Horizon(lead=2 * MINUTE, margin=MINUTE),
            tables=TABLES,
            clock=self.clock,
            works_for=10 * SECOND,
        )

    def waiting(self, minutes_ago: int) -> Task:
        due = self.clock.now() - minutes_ago * MINUTE
        task = a_task(minutes_ago, due_at=due)
        self.tasks.add([task])
        return task

    def handled(self, event: dict[str, Any]) -> dict[str, Any]:
        """The function's handler, over these stores."""
        self.called.append(event["action"])
        operate.wired.cache_clear()
        wired, operate.wired = operate.wired, lambda: self  # type: ignore[assignment]
        try:
            answer: dict[str, Any] = operate.handler(event, Context())
        finally:
            operate.wired = wired
        return answer

    def machine(self, call: Callable[[dict[str, Any]], Any] | None = None) -> Interpreted:
        return Interpreted(name="recover", calls={"Operate": call or self.handled}, clock=self.clock)

    def asked(self, *restored: str, first: datetime | None = None) -> dict[str, Any]:
        return {
            "since": self.since.isoformat(),
            "from": None if first is None else first.isoformat(),
            "restored": list(restored),
        }

    def run(self, machine: Interpreted, asked: dict[str, Any], name: str = "one") -> str:
        machine.start(name, asked)
        machine.run()
        return machine.status[name]

    @property
    def mark(self) -> Watermark:
        mark = self.passes.watermark()
        assert mark is not None
        return mark

    def _noted(self, until: int) -> None:
        """Every minute before that one was closed, and the early ones were audited."""
        before = self.since - CLOCKS_APART
        last = instants.minute_of(before - AUDITED_AFTER)
        for minute in range(last - 3, until):
            for group in range(self.groups.count(minute)):
                at = instants.end_of(minute)
                audited = at + timedelta(seconds=1) if minute <= last else None
                stage = Stage.AUDIT if minute <= last else Stage.CLOSE
                self.passes.record(
                    SweepProgress(
                        minute=minute,
                        group=group,
                        stage=stage,
                        opened_at=at,
                        looked_at=at,
                        audited_at=audited,
                    )
                )

    def _sweep(self) -> None:
        """Closes minutes anew. The watermark stays where it is: that follows after the audits, in an hour."""
        closed = instants.minute_of(self.clock.now()) - 3
        mark = self.mark
        minutes = range(mark.minute + 1 + self.closed[mark.epoch], closed + 1)[: self.minutes_a_look]
        for minute in minutes:
            self.closed[mark.epoch] += 1
            for group in range(self.groups.count(minute)):
                at = self.clock.now()
                stage, epoch = Stage.CLOSE, mark.epoch
                self.passes.record(
                    SweepProgress(
                        minute=minute, group=group, stage=stage, opened_at=at, looked_at=at, epoch=epoch
                    )
                )


def test_after_an_outage_the_sweep_goes_back_and_catches_up() -> None:
    outage = Outage()
    machine = outage.machine()
    assert outage.run(machine, outage.asked(first=outage.since)) == "SUCCEEDED"
    assert (outage.mark.epoch, outage.mark.tables) == (1, TABLES)
    assert outage.mark.minute == instants.minute_of(outage.since) - 1
    # 127 minutes, 50 of them a look.
    assert outage.called.count("recover_look") == 3
    # Nothing was restored, so no token is raised.
    assert set(outage.called) == {"recover_plan", "recover_put_back", "recover_look"}


def test_the_notes_of_the_sweep_say_where_it_stood() -> None:
    outage = Outage()
    answer = outage.handled({"action": "recover_plan", **outage.asked()})
    assert answer["possible"] is True
    assert answer["stood"] < instants.minute_of(outage.since)


def test_tokens_of_a_restored_table_are_raised_before_the_watermark_goes_back() -> None:
    outage = Outage()
    early, late = outage.waiting(120), outage.waiting(5)
    assert outage.run(outage.machine(), outage.asked("items", first=outage.since)) == "SUCCEEDED"
    for task in (early, late):
        raised = outage.tasks.get(task.id)
        assert raised is not None
        assert raised.token == task.token + TOKENS_AHEAD
    assert outage.called.index("recover_put_back") > outage.called.index("recover_tokens")
    # 130 minutes behind, and 3 ahead.
    assert outage.called.count("recover_tokens") == -(-133 // SPAN_MINUTES)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"restored": ["payments"]}, "only items"),
        ({"since": "2026-11-18"}, "no offset"),
        ({"since": "yesterday"}, "Invalid isoformat"),
        ({"since": "2999-01-01T00:00:00Z"}, "in the future"),
        ({"from": "2026-01-01T00:00:00Z"}, "more minutes than a week"),
        ({"since": "2025-01-01T00:00:00Z"}, "no notes"),
    ],
)
def test_a_recovery_that_is_not_for_this_machine_is_refused(changed: dict[str, Any], why: str) -> None:
    outage = Outage()
    machine = outage.machine()
    asked = outage.asked() | changed
    assert why in outage.handled({"action": "recover_plan", **asked})["refused"]
    assert outage.run(machine, asked) == "FAILED"
    assert outage.mark.epoch == 0


def test_the_spans_are_bounded_and_cover_each_minute_once() -> None:
    outage = Outage(minutes=MINUTES_MAX - 10)
    spans = outage.handled({"action": "recover_plan", **outage.asked(first=outage.since)})["spans"]
    minutes = [minute for span in spans for minute in range(span["next"], span["last"] + 1)]
    assert minutes == list(range(instants.minute_of(outage.since), minutes[-1] + 1))
    assert max(span["last"] - span["next"] for span in spans) < SPAN_MINUTES
    assert len(json.dumps(spans)) < 100_000


def test_a_minute_that_takes_longer_than_a_step_is_left_and_taken_up_again() -> None:
    """At the promised peak, the slots of one minute take longer than the function may run."""
    outage = Outage(minutes=4)
    read: list[Slot] = []
    slots_read = outage.tasks.due_in

    def slowly(slot: Slot, *given: Any, **named: Any) -> Any:
        outage.clock.move(20 * SECOND)
        read.append(slot)
        return slots_read(slot, *given, **named)

    outage.tasks.due_in = slowly  # type: ignore[method-assign]
    task = outage.waiting(2)
    lasted: list[timedelta] = []

    def timed(event: dict[str, Any]) -> Any:
        began = outage.clock.now()
        answer = outage.handled(event)
        lasted.append(outage.clock.now() - began)
        return answer

    assert outage.run(outage.machine(timed), outage.asked("items", first=outage.since)) == "SUCCEEDED"
    assert max(lasted) < 30 * SECOND < PLAN.count(read[0].minute) * 20 * SECOND
    assert len(read) == len(set(read)) == PLAN.count(read[0].minute) * len({slot.minute for slot in read})
    raised = outage.tasks.get(task.id)
    assert raised is not None
    assert raised.token == task.token + TOKENS_AHEAD


def test_a_span_of_an_earlier_release_is_taken_up_at_its_minute() -> None:
    outage = Outage()
    task = outage.waiting(5)
    minute = instants.minute_of(task.due_at)
    event = {
        "action": "recover_tokens",
        "since": outage.since.isoformat(),
        "span": {"next": minute, "last": minute, "raised": 0},
    }
    answer = outage.handled(event)
    assert (answer["goes_on"], answer["span"]["raised"]) == (False, 1)


def test_all_edges_of_the_machine_are_walked() -> None:
    walked = set()
    for asked in ({}, {"restored": ["payments"]}):
        outage = Outage()
        machine = outage.machine(failing_once(outage))
        outage.run(machine, outage.asked("items", first=outage.since) | asked)
        walked |= machine.walked
    outage = Outage()
    machine = outage.machine()
    outage.run(machine, outage.asked(first=outage.since))
    walked |= machine.walked
    for broken in STATES:
        outage = Outage()
        machine = outage.machine(always_failing(outage, broken))
        assert outage.run(machine, outage.asked("items", first=outage.since)) == "FAILED"
        assert outage.called[-1] == "recover_give_up"
        walked |= machine.walked
    walked |= slow_spans() | never_caught_up()
    assert outage.machine().edges - walked == set()
    assert {state for state, way in walked if way == RETRY} == {
        *("Plan", "RaiseInSpan", "PutBack", "Look", "GiveUp")
    }


def failing_once(outage: Outage) -> Callable[[dict[str, Any]], Any]:
    tried: set[str] = set()

    def call(event: dict[str, Any]) -> Any:
        if event["action"] not in tried:
            tried.add(event["action"])
            raise Unavailable
        return outage.handled(event)

    return call


def always_failing(outage: Outage, action: str) -> Callable[[dict[str, Any]], Any]:
    """The report of the failure fails once too."""
    gave_up = failing_once(outage)

    def call(event: dict[str, Any]) -> Any:
        if event["action"] == action:
            raise Unavailable
        return gave_up(event) if event["action"] == "recover_give_up" else outage.handled(event)

    return call


def slow_spans() -> set[tuple[str, str]]:
    """Each step of a span has time for two slots only."""
    outage = Outage(minutes=4)
    outage.tasks.due_in = took(outage, outage.tasks.due_in)  # type: ignore[method-assign]
    task = outage.waiting(2)
    machine = outage.machine()
    assert outage.run(machine, outage.asked("items", first=outage.since)) == "SUCCEEDED"
    assert outage.called.count("recover_tokens") > 2
    raised = outage.tasks.get(task.id)
    assert raised is not None
    assert raised.token == task.token + TOKENS_AHEAD
    return machine.walked


def took(outage: Outage, read: Callable[..., Any]) -> Callable[..., Any]:
    def slowly(*given: Any, **named: Any) -> Any:
        outage.clock.move(6 * SECOND)
        return read(*given, **named)

    return slowly


def never_caught_up() -> set[tuple[str, str]]:
    outage = Outage(minutes_a_look=0)
    machine = outage.machine()
    assert outage.run(machine, outage.asked(first=outage.since)) == "FAILED"
    assert outage.called.count("recover_look") == LOOKS_MAX + 1
    return machine.walked


class Died(BaseException):
    pass


@pytest.mark.parametrize("after", STATES)
def test_a_machine_that_dies_after_any_state_can_be_started_again(after: str) -> None:
    outage = Outage()
    task = outage.waiting(60)
    asked = outage.asked("items", first=outage.since)

    def dies(event: dict[str, Any]) -> Any:
        answer = outage.handled(event)
        if event["action"] == after:
            raise Died
        return answer

    with pytest.raises(Died):
        outage.run(outage.machine(dies), asked)
    assert outage.run(outage.machine(), asked, "two") == "SUCCEEDED"
    assert outage.closed[outage.mark.epoch] >= 127
    raised = outage.tasks.get(task.id)
    assert raised is not None
    assert raised.token >= task.token + TOKENS_AHEAD
