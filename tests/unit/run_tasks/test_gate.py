"""Runs that may begin at their instant, and the fate of the others."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from functions.run_tasks.circuits import circuit
from functions.run_tasks.tally import TaskTally
from postdate.domain import breaker as rules
from postdate.domain import flow_key as flow_keys
from postdate.domain import task_requests
from postdate.domain.breaker import PROBE_EVERY, TURN, Breaker
from postdate.domain.due import DELAY_MAX, WAIT_MAX, Due, Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl, Room, enter
from postdate.domain.flow_key import FlowKey
from postdate.domain.task import Ack, Destination, State, Task
from postdate.stores.flow_memory import MemoryFlow
from postdate.targets.base import Delivered, Failed, Untried
from tests.unit.doubles import (
    HOOK,
    LEASE,
    MINUTE,
    SECOND,
    START,
    STEADY,
    ScriptedTarget,
    a_task,
    in_state,
    message,
)
from tests.unit.run_tasks.conftest import Running

TENTH = timedelta(milliseconds=100)
FAST = FlowControl(key="mail", rate=10)
SLOW = FlowControl(key="mail", rate=1, period_seconds=4)
NARROW = FlowControl(key="mail", parallelism=2)
HERE = circuit("demo", HOOK)
DOWN = Failed(reason="connection refused", down=True)
OTHER = Destination(type="webhook", address="https://other.example.com/")


class CountedFlow(MemoryFlow):
    """Counts calls; `fails` names those that are not answered."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.fails: set[str] = set()

    def __getattribute__(self, name: str):
        found = super().__getattribute__(name)
        if name.startswith("_") or name in ("calls", "fails") or not callable(found):
            return found

        def called(*args, **kwargs):
            self.calls.append(name)
            if name in self.fails:
                raise Unavailable
            return found(*args, **kwargs)

        return called


@pytest.fixture
def running():
    flow = CountedFlow()
    made = Running(flow=flow)
    yield made
    made.target.close()


def tasks(count: int, **fields) -> list[Task]:
    return [a_task(number, **fields) for number in range(1, count + 1)]


def opened(running: Running, *, way=HERE, now: datetime = START) -> Breaker:
    breaker = rules.failed(Breaker(), 10, now=now)
    assert running.flow.change_breaker(way, Breaker(), breaker)
    return breaker


def starts(running: Running) -> list[datetime]:
    return sorted(at for at, _ in running.target.started)


def come_again(running: Running, *, sent_at: datetime | None = None) -> None:
    """Everything that was sent on, as it arrives, until nothing is left. It was sent just now, or `sent_at`."""
    travelling: list[tuple[datetime, Packet]] = (
        [(sent_at + delay, packet) for packet, delay in running.queue.take()] if sent_at else []
    )
    for _ in range(200):
        now = running.clock.now()
        travelling += [(now + delay, packet) for packet, delay in running.queue.take()]
        if not travelling:
            return
        running.clock.move(max(min(at for at, _ in travelling) - now, timedelta(0)))
        now = running.clock.now()
        arrived = [packet for at, packet in travelling if at <= now]
        travelling = [(at, packet) for at, packet in travelling if at > now]
        running.run(
            *(
                message(*packet.dues, number=number, via=packet.via, seen=packet.seen)
                for number, packet in enumerate(arrived)
            )
        )
    raise AssertionError("they never come to an end")


def test_an_ordinary_task_costs_one_look_a_second_and_nothing_else(running):
    given = tasks(20)
    running.stores(*given)
    running.run(*(message(task, number=number) for number, task in enumerate(given)))
    assert len(running.target.started) == 20
    assert running.flow.calls == ["breakers"]


def test_runs_that_are_due_together_are_spread_over_the_places_of_their_key(running):
    """Near places are waited for on the spot, the others are called again."""
    given = tasks(25, flow=FlowControl(key="mail", rate=5))
    running.stores(*given)
    tally = running.run(message(*given))
    assert (tally.claimed, tally.postponed, tally.failures) == (16, 9, [])
    assert running.flow.calls.count("take") == 1
    waiting = [task for task in map(running.stored, given) if not task.attempts]
    assert sorted(task.due_at for task in waiting) == [START + place * 2 * TENTH for place in range(16, 25)]
    assert {task.planned_at for task in waiting} == {START}
    assert {via for via, _, _ in running.sent} == {Via.POSTPONED}
    come_again(running, sent_at=START)
    assert starts(running) == [START + place * 2 * TENTH for place in range(25)]
    assert running.flow.calls.count("take") == 1, "a place was taken twice"
    assert {running.stored(task).state for task in given} == {State.SUCCEEDED}


def test_a_near_place_costs_no_write_and_is_lost_with_its_worker_alone(running):
    given = tasks(3, flow=FAST)
    running.stores(*given)
    running.run(message(*given))
    assert {running.stored(task).version for task in given} == {3}, "a claim and an outcome"
    assert running.sent == []
    assert starts(running) == [START + place * TENTH for place in range(3)]


def test_a_call_that_comes_twice_waits_for_the_place_that_the_first_has(running):
    given = tasks(2, flow=FlowControl(key="mail", rate=1, period_seconds=2))
    running.stores(*given)
    running.run(message(*given), message(*reversed(given), number=2))
    assert starts(running) == [START, START + 2 * SECOND]
    assert running.flow.calls.count("take") == 1


@pytest.mark.parametrize(("moved_to", "begins"), [(None, 8), ("mail", 12), ("other", 60)])
def test_a_place_is_none_of_a_key_that_the_task_is_given_later(running, moved_to, begins):
    """The task's place is in eight seconds; the other key's timeline is taken for a minute."""
    given = tasks(3, flow=SLOW)
    running.stores(*given)
    running.run(message(*given))
    running.flow.take("demo", "other", MINUTE, now=START)
    waits = max(map(running.stored, given), key=lambda task: task.due_at)
    assert waits.placed_at == waits.due_at == START + 8 * SECOND
    flow = None if moved_to is None else replace(SLOW, key=moved_to)
    running.tasks.commit([task_requests.edit(waits, now=START, due_at=None, why="changed flow", flow=flow)])
    come_again(running, sent_at=START)
    assert starts(running)[-1] == START + begins * SECOND


def test_a_task_that_was_cancelled_while_it_was_held_does_not_begin(running):
    first, second = tasks(2, flow=FAST)
    running.stores(first, second)
    change = task_requests.cancel(second, now=START)
    running.target.script[first.id].append(
        lambda delivery, report: (
            running.tasks.commit([change]),
            report(delivery, Delivered(http_status=200)),
        )
    )
    running.run(message(first, second))
    assert len(running.target.started) == 1
    assert running.stored(second).state is State.CANCELLED


def test_workers_that_come_one_after_the_other_share_one_timeline(running):
    given = tasks(6, flow=FAST)
    running.stores(*given)
    for task in given:
        running.run(message(task))
    come_again(running)
    assert starts(running) == [START + place * TENTH for place in range(6)]


def test_two_keys_and_two_tenants_do_not_wait_for_each_other(running):
    given = [
        a_task(1, flow=FAST),
        a_task(2, flow=FlowControl(key="other", rate=10)),
        a_task(3, flow=FAST, tenant="acme"),
    ]
    running.stores(*given)
    running.run(*(message(task, number=task.version, tenant=task.tenant) for task in given))
    assert len(running.target.started) == 3


def test_a_place_further_away_than_the_queue_holds_is_left_to_the_sweep_of_its_minute(running):
    given = tasks(2, flow=FlowControl(key="slow", rate=1, period_seconds=3600))
    running.stores(*given)
    running.run(message(*given))
    (later,) = [task for task in map(running.stored, given) if task.state is State.PENDING]
    assert later.due_at == START + 60 * MINUTE > START + DELAY_MAX
    assert running.sent == []
    (entry,) = [
        entry
        for shard in range(4)
        for entry in running.tasks.due_in(replace(later.home, minute=later.home.minute + 60, shard=shard))
    ]
    assert (entry.due.id, entry.due.version) == (later.id, later.version)
    running.clock.move(60 * MINUTE)
    running.run(message(entry.due, via=Via.SWEEP))
    assert running.stored(later).state is State.SUCCEEDED
    assert running.flow.calls.count("take") == 1


def test_a_place_that_stood_empty_too_long_is_taken_anew(running):
    given = tasks(2, flow=SLOW)
    running.stores(*given)
    running.run(message(*given))
    ((packet, _),) = running.queue.take()
    running.clock.move(20 * SECOND)
    running.run(message(*packet.dues))
    assert running.flow.calls.count("take") == 2
    assert starts(running) == [START, START + 20 * SECOND]


def test_a_retry_takes_a_place_of_its_own(running):
    (task,) = tasks(1, flow=FAST)
    running.stores(task)
    running.target.script[task.id].append(Failed(reason="http 500"))
    running.run(message(task))
    come_again(running)
    assert running.stored(task).attempts == 2
    assert running.flow.calls.count("take") == 2


DAY = 24 * 60 * MINUTE
DAILY = FlowControl(key="mail", rate=1, period_seconds=86_400)


def test_no_place_is_given_away_beyond_the_time_in_which_a_task_may_begin(running):
    """The task's payload would be gone by then, and the key would have no place for later tasks."""
    given = tasks(75, flow=DAILY)
    running.stores(*given)
    tally = running.run(*(message(*given[start : start + 25], number=start) for start in (0, 25, 50)))
    assert (tally.claimed, tally.postponed, tally.expired) == (1, 59, 15)
    stored = [running.stored(task) for task in given]
    waiting = sorted(task.due_at for task in stored if task.state is State.PENDING)
    assert waiting == [START + day * DAY for day in range(1, 60)]
    expired = {
        (task.state, task.error) for task in stored if task.state not in (State.PENDING, State.SUCCEEDED)
    }
    why = "its key has no place sooner, and by then 60 days have passed since its instant"
    assert expired == {(State.EXPIRED, why)}
    running.clock.move(DAY)
    later = a_task(99, flow=DAILY, due_at=running.clock.now())
    running.stores(later)
    running.run(message(later))
    assert running.stored(later).due_at == START + 60 * DAY


def test_of_tasks_that_want_places_at_once_the_one_with_a_near_deadline_gets_none(running):
    first, urgent, last = tasks(3, flow=DAILY)
    urgent = replace(urgent, expires_at=START + DAY)
    running.stores(first, urgent, last)
    running.run(message(first, urgent, last))
    assert [running.stored(task).state for task in (first, urgent, last)] == [
        State.SUCCEEDED,
        State.EXPIRED,
        State.PENDING,
    ]
    why = "its key has no place sooner, and by then its deadline has passed"
    assert running.stored(urgent).error == why
    assert running.stored(last).due_at == START + DAY


@pytest.mark.parametrize(("takes", "called"), [(11 * MINUTE, False), (14 * MINUTE, True)])
def test_a_place_that_is_written_when_its_minute_may_be_open_is_called_at_once(running, takes, called):
    given = tasks(2, flow=FlowControl(key="mail", rate=1, period_seconds=930))
    running.stores(*given)
    running.tasks.before["commit"].append(lambda: running.clock.move(takes))
    running.run(message(*given))
    (later,) = [stored for task in given if (stored := running.stored(task)).state is State.PENDING]
    assert later.due_at == START + 930 * SECOND
    assert [due for _, due, _ in running.sent] == [Due.of(later)] * called


def test_a_task_whose_place_lies_behind_its_deadline_expires(running):
    given = tasks(3, flow=SLOW, expires_at=START + 8 * SECOND)
    running.stores(*given)
    tally = running.run(message(*given))
    assert (tally.claimed, tally.postponed, tally.expired) == (1, 1, 1)


@pytest.mark.parametrize("state", [State.RETRYING, State.DEAD, State.RUNNING])
def test_whatever_begins_passes_the_gate(running, state):
    """A retry, a redrive, and a run taken from a worker that died."""
    running.clock.move(10 * MINUTE)
    now = running.clock.now()
    task = replace(in_state(state, a_task(1, flow=FAST)), due_at=START if state is State.RUNNING else now)
    running.flow.take("demo", "mail", 5 * SECOND, now=now)
    running.stores(task)
    tally = running.run(message(task, receives=2))
    after = running.stored(task)
    assert (after.state, after.due_at, tally.postponed) == (State.RETRYING, now + 5 * SECOND, 1)
    assert after.attempts == (0 if state is State.DEAD else task.attempts)
    assert after.lease_until is None
    come_again(running)
    assert running.stored(task).state is State.SUCCEEDED


def test_a_run_that_cannot_take_a_place_now_is_called_again(running):
    (task,) = tasks(1, flow=FAST)
    running.stores(task)
    running.flow.fails = {"take"}
    tally = running.run(message(task))
    assert (tally.claimed, tally.deferred, running.stored(task)) == (0, 1, task)
    running.flow.fails = set()
    come_again(running)
    assert running.stored(task).state is State.SUCCEEDED


def test_a_worker_that_dies_after_it_postponed_leaves_its_message(running):
    given = tasks(2, flow=SLOW)
    running.stores(*given)
    running.queue.refuses = 1
    tally = running.run(message(*given))
    assert tally.failed_messages
    running.clock.move(LEASE)
    running.run(message(*given, receives=2))
    come_again(running)
    assert {running.stored(task).state for task in given} == {State.SUCCEEDED}


def test_no_more_of_a_key_are_on_at_once_than_may_be(running):
    given = tasks(5, flow=NARROW)
    running.stores(*given)
    on: list[str] = []
    most: list[int] = []

    def deliver(delivery, report):
        on.append(delivery.task_id)
        most.append(len(on))
        if len(on) == 2:
            for task_id in on[:]:
                on.remove(task_id)
                report(replace(delivery, task_id=task_id, run_id=task_id), Delivered(http_status=200))

    for task in given:
        running.target.script[task.id].append(deliver)
    tally = running.run(message(*given))
    assert (tally.claimed, tally.postponed) == (2, 3)
    running.target.script.clear()
    come_again(running)
    assert max(most) == 2
    assert {running.stored(task).state for task in given} == {State.SUCCEEDED}
    assert {running.stored(task).attempts for task in given} == {1}
    assert running.flow.room("demo", "mail").runs == {}


def test_a_run_of_a_worker_that_died_holds_its_room_until_its_lease_is_over(running):
    dead, waits = tasks(2, flow=FlowControl(key="mail", parallelism=1))
    running.stores(dead, waits)
    running.target.script[dead.id].append(lambda delivery, report: running.target.close() or crash())
    with pytest.raises(RuntimeError):
        running.run(message(dead))
    running.clock.move(LEASE - SECOND)
    tally = running.run(message(waits))
    assert (tally.claimed, tally.postponed) == (0, 1)
    running.queue.take()
    running.clock.move(2 * SECOND)
    running.run(message(running.stored(waits)))
    assert running.stored(waits).state is State.SUCCEEDED


def crash() -> None:
    raise RuntimeError


def test_a_run_that_its_receiver_accepted_stays_in_the_room(running):
    first, second = tasks(2, flow=FlowControl(key="mail", parallelism=1), ack=Ack.EXPLICIT)
    running.stores(first, second)
    running.run(message(first))
    assert running.stored(first).state is State.RUNNING
    running.queue.take()
    running.clock.move(20 * SECOND)
    assert running.run(message(second)).postponed == 1


def test_a_room_that_cannot_be_read_keeps_its_tasks_waiting(running):
    (task,) = tasks(1, flow=NARROW)
    running.stores(task)
    running.flow.fails = {"room"}
    assert running.run(message(task)).deferred == 1
    running.flow.fails = set()
    come_again(running)
    assert running.stored(task).state is State.SUCCEEDED


def test_ten_failures_open_the_breaker_and_the_rest_waits_without_an_attempt(running):
    given = tasks(60)
    running.stores(*given)
    for task in given:
        running.target.script[task.id].append(DOWN)
    tally = running.run(*(message(*given[place : place + 10], number=place) for place in range(0, 60, 10)))
    assert len(running.target.started) == 25, "one claim's worth was on its way before anything was heard"
    assert tally.postponed == 35
    waiting = [task for task in map(running.stored, given) if not task.attempts]
    assert len(waiting) == 35
    first, *others = sorted(task.due_at for task in waiting)
    assert first == START + PROBE_EVERY
    assert all(first + SECOND <= at <= first + SECOND + 35 * TURN for at in others)
    assert running.flow.states("demo").keys() == {HERE[1]}


def test_an_open_breaker_lets_nothing_out_and_touches_no_other_destination(running):
    opened(running)
    there, elsewhere = a_task(1), a_task(2, destination=OTHER)
    foreign = a_task(3, tenant="acme")
    running.stores(there, elsewhere, foreign)
    running.run(message(there, elsewhere), message(foreign, number=2, tenant="acme"))
    assert {delivery.task_id for _, delivery in running.target.started} == {elsewhere.id, foreign.id}
    assert running.stored(there).history[-1].why == "the circuit breaker of its destination is open"


def test_one_probe_goes_out_and_the_others_wait_for_what_becomes_of_it(running):
    breaker = opened(running)
    given = tasks(20, due_at=breaker.open_until)
    running.stores(*given)
    running.clock.move(breaker.open_until - running.clock.now())
    for task in given:
        running.target.script[task.id].append(DOWN)
    tally = running.run(message(*given))
    assert (tally.claimed, tally.postponed) == (1, 19)
    again = running.flow.states("demo")[HERE[1]]
    assert again.opened == 2
    assert breaker.open_until + PROBE_EVERY <= again.open_until <= breaker.open_until + PROBE_EVERY + SECOND


def test_a_probe_that_gets_through_closes_the_breaker(running):
    breaker = opened(running)
    given = tasks(20, due_at=breaker.open_until)
    running.stores(*given)
    running.clock.move(breaker.open_until - running.clock.now())
    running.run(message(*given))
    assert running.flow.states("demo") == {}
    come_again(running)
    assert {running.stored(task).state for task in given} == {State.SUCCEEDED}


def test_of_two_workers_one_sends_the_probe(running):
    breaker = opened(running)
    first, second = tasks(2, due_at=breaker.open_until)
    running.stores(first, second)
    running.clock.move(breaker.open_until - running.clock.now())
    running.target.script[first.id].append(lambda delivery, report: probe_meanwhile(delivery, report))
    seen = []

    def probe_meanwhile(delivery, report):
        seen.append(running.run(message(second), holder="worker-2").postponed)
        report(delivery, Delivered(http_status=200))

    running.run(message(first))
    assert seen == [1]


def test_a_probe_that_was_not_sent_is_given_back(running):
    breaker = opened(running)
    first, second = tasks(2, due_at=breaker.open_until)
    running.stores(first, second)
    running.clock.move(breaker.open_until - running.clock.now())
    running.target.script[first.id].append(Untried(reason="its name was not looked up in time"))
    running.run(message(first))
    assert running.stored(first).state is State.RETRYING
    running.run(message(second))
    assert running.stored(second).state is State.SUCCEEDED
    assert running.flow.states("demo") == {}


def test_a_failure_of_our_own_code_tells_nothing_about_the_destination(running):
    breaker = opened(running)
    (task,) = tasks(1, due_at=breaker.open_until)
    running.stores(task)
    running.clock.move(breaker.open_until - running.clock.now())
    running.target.script[task.id].append(Failed(reason="internal error", heard=False))
    running.run(message(task))
    assert running.stored(task).attempts == 1
    after = running.flow.states("demo")[HERE[1]]
    assert (after.open_until, after.probe_until) == (breaker.open_until, None)


def test_the_calls_behind_one_probe_keep_their_worker_for_one_wait(running):
    breaker = opened(running)
    first, second = tasks(2, due_at=breaker.open_until)
    running.stores(first, second)
    running.clock.move(breaker.open_until - running.clock.now())
    elsewhere = rules.probe(breaker, now=running.clock.now(), until=running.clock.now() + MINUTE)
    assert running.flow.change_breaker(HERE, breaker, elsewhere)
    waits = []
    for task in (first, second):
        before = running.clock.now()
        assert running.run(message(task)).postponed == 1
        waits.append(running.clock.now() - before)
    assert waits[0] >= WAIT_MAX
    assert waits[1] == timedelta(0)


def test_a_probe_whose_room_is_full_is_given_back(running):
    breaker = opened(running)
    (task,) = tasks(1, due_at=breaker.open_until, flow=NARROW)
    running.stores(task)
    running.clock.move(breaker.open_until - running.clock.now())
    key, now = ("demo", "mail"), running.clock.now()
    full = enter(Room(), ["first#1", "second#1"], parallelism=2, until=now + MINUTE, now=now).room
    assert running.flow.change_room(*key, Room(), full)
    assert running.run(message(task)).postponed == 1
    after = running.flow.states("demo")[HERE[1]]
    assert (after.open_until, after.probe_until) == (breaker.open_until, None)


def test_a_second_worker_with_the_call_of_a_probe_leaves_it_in_its_room(running):
    """Both workers claim the same version, so their claims have one name in the room."""
    breaker = opened(running)
    (task,) = tasks(1, due_at=breaker.open_until, flow=NARROW)
    running.stores(task)
    running.clock.move(breaker.open_until - running.clock.now())
    other = Running(flow=running.flow)
    other.stores(task)
    other.clock.sleep_until(running.clock.now())
    other.circuits.foresee({HERE})
    inside = []

    def look(delivery, report):
        other.run(message(task))
        inside.append(set(running.flow.room("demo", "mail").runs))
        report(delivery, Delivered())

    running.target.script[task.id].append(look)
    running.run(message(task))
    assert inside == [{f"{task.id}#1"}]


def test_a_run_that_is_not_the_probe_takes_no_room(running):
    breaker = opened(running)
    given = tasks(2, due_at=breaker.open_until, flow=NARROW)
    running.stores(*given)
    running.clock.move(breaker.open_until - running.clock.now())
    inside = []

    def look(delivery, report):
        inside.append(set(running.flow.room("demo", "mail").runs))
        report(delivery, DOWN)

    for task in given:
        running.target.script[task.id].append(look)
    running.run(message(*given))
    ((_, probe),) = running.target.started
    assert inside == [{f"{probe.run_id}#1"}]
    assert running.flow.room("demo", "mail").runs == {}


class DownUntil(ScriptedTarget):
    """Refuses until an instant, and takes everything from then on."""

    def __init__(self, clock, until):
        super().__init__(clock)
        self.until = until

    def start(self, deliveries, report):
        for delivery in deliveries:
            now = self._clock.now()
            self.started.append((now, delivery))
            report(delivery, DOWN if now < self.until else Delivered(http_status=200))


class TestAnOutage:
    """Two minutes and some seconds, with 40 tasks waiting; ten failures have opened the breaker. A probe is due every
    twenty seconds, so the receiver returns at any time between two."""

    @pytest.fixture(params=[0, 1, 7, 13, 19])
    def given(self, running, request):
        running.target = DownUntil(running.clock, START + 2 * MINUTE + request.param * SECOND)
        opened(running)
        given = tasks(40, retry=replace(STEADY, initial_seconds=5, max_attempts=20))
        running.stores(*given)
        running.run(*(message(*given[place : place + 20], number=place) for place in (0, 20)))
        come_again(running)
        return given

    def test_it_sees_nothing_but_probes_twenty_seconds_apart(self, running, given):
        probes = [at for at in starts(running) if at < running.target.until]
        assert len(probes) in (5, 6, 7)
        assert all(PROBE_EVERY <= later - at <= PROBE_EVERY + SECOND for at, later in pairwise(probes))

    def test_all_are_delivered_within_thirty_seconds_of_its_end_and_use_no_attempt_for_waiting(
        self, running, given
    ):
        stored = [running.stored(task) for task in given]
        assert {task.state for task in stored} == {State.SUCCEEDED}
        assert max(starts(running)) <= running.target.until + 30 * SECOND
        assert sum(task.attempts for task in stored) == len(running.target.started)

    def test_calls_behind_a_breaker_begin_at_a_growing_rate(self, running, given):
        after = [at for at in starts(running) if at >= running.target.until]
        assert len(after) == 40
        probe, *held = after
        assert held[0] >= probe + SECOND
        assert sum(at < held[0] + SECOND for at in held) <= 20
        assert held[-1] < probe + 4 * SECOND


def test_a_call_waits_at_its_worker_for_a_probe_that_is_soon_over_and_costs_nothing(running):
    breaker = opened(running)
    first, second = tasks(2, due_at=breaker.open_until)
    running.stores(first, second)
    running.clock.move(breaker.open_until - running.clock.now())
    running.run(message(first, second))
    assert running.stored(second).version == 3, "claimed and delivered, and never put off"
    probe, held = starts(running)
    assert probe == breaker.open_until
    assert SECOND / 4 <= held - probe <= SECOND / 2


def test_a_thousand_that_wait_ask_again_one_after_the_other(running):
    opened(running)
    given = tasks(1000)
    running.stores(*given)
    for place in range(0, 1000, 250):
        packets = (
            message(*given[start : start + 25], number=start) for start in range(place, place + 250, 25)
        )
        running.run(*packets)
    first, *others = sorted(running.stored(task).due_at for task in given)
    assert first == START + PROBE_EVERY
    assert others == [first + SECOND + place * TURN for place in range(1, 1000)]


def test_answers_that_refuse_a_single_call_open_no_breaker(running):
    given = tasks(40, retry=replace(STEADY, max_attempts=1))
    running.stores(*given)
    for task in given:
        running.target.script[task.id].append(Failed(reason="http 404", http_status=404))
    running.run(*(message(*given[place : place + 20], number=place) for place in (0, 20)))
    assert len(running.target.started) == 40
    assert "change_breaker" not in running.flow.calls


def test_a_worker_hears_of_a_breaker_that_another_opened(running):
    near, later = a_task(1), a_task(2, due_at=START + 5 * SECOND)
    running.stores(near, later)
    running.run(message(near))
    opened(running)
    running.clock.move(5 * SECOND)
    assert running.run(message(later)).postponed == 1


def test_a_breaker_that_cannot_be_read_or_written_holds_nobody_up(running):
    given = tasks(12)
    running.stores(*given)
    running.flow.fails = {"breakers", "change_breaker"}
    for task in given:
        running.target.script[task.id].append(DOWN)
    running.run(message(*given))
    assert len(running.target.started) == 12


def test_a_circuit_is_a_tenants_way_to_one_host():
    ways = {
        circuit("demo", Destination(type="webhook", address=address))
        for address in ("https://Hooks.example.com/a?b", "https://hooks.example.com/c")
    }
    assert ways == {("demo", "webhook:hooks.example.com")}
    assert circuit("acme", HOOK) != circuit("demo", HOOK)
    queue = Destination(type="sqs", address="https://sqs.example.com/1/q")
    assert circuit("demo", queue) == ("demo", "sqs:https://sqs.example.com/1/q")


def paused(running: Running, key: str = "mail") -> FlowKey:
    at = ("demo", key)
    before = running.flow.key(at)
    after = flow_keys.paused(before, now=running.clock.now())
    assert running.flow.change_key(at, before, after)
    return after


def resume(running: Running, key: str = "mail") -> None:
    before = running.flow.key(("demo", key))
    assert running.flow.change_key(("demo", key), before, flow_keys.resumed(before))


def arrive(running: Running) -> TaskTally:
    """Deferred calls arrive together at the latest of their instants."""
    sent = running.queue.take()
    running.clock.move(max(delay for _, delay in sent) + SECOND)
    return running.run(*(message(*packet.dues, number=number) for number, (packet, _) in enumerate(sent)))


def test_nothing_begins_under_a_paused_key_and_everything_does_once_it_is_resumed(running):
    given = tasks(5, flow=NARROW)
    running.stores(*given)
    paused(running)
    for _ in range(3):
        tally = running.run(message(*given)) if not running.sent else arrive(running)
        assert (tally.claimed, tally.postponed) == (0, 5)
    assert running.flow.key(("demo", "mail")).waiting == 5, "a run that asks again is no other run"
    resume(running)
    come_again(running)
    assert {running.stored(task).state for task in given} == {State.SUCCEEDED}
    assert {running.stored(task).attempts for task in given} == {1}
    assert running.flow.key(("demo", "mail")).waiting == 0


def test_a_pause_is_of_one_key_and_one_tenant(running):
    other, free = a_task(1, flow=FlowControl(key="other", rate=10)), a_task(2)
    stranger = a_task(3, tenant="stranger", flow=NARROW)
    running.stores(other, free, stranger)
    paused(running)
    assert running.run(message(other, free), message(stranger, number=2)).claimed == 3


def test_a_pause_that_comes_meanwhile_is_known_a_second_later(running):
    given = tasks(2, flow=NARROW)
    running.stores(*given)
    assert running.run(message(given[0])).claimed == 1
    paused(running)
    running.clock.move(SECOND)
    assert running.run(message(given[1])).claimed == 0


def test_runs_of_a_paused_key_ask_again_later_the_longer_it_is_paused_and_one_by_one(running):
    given = tasks(3, flow=NARROW)
    running.stores(*given)
    paused(running)
    running.run(message(*given))
    first = [running.stored(task).due_at - running.clock.now() for task in given]
    assert first == [5 * SECOND + place * TURN for place in range(3)]
    running.clock.move(10 * MINUTE)
    running.run(message(*map(running.stored, given)))
    assert running.stored(given[0]).due_at - running.clock.now() == MINUTE
    running.clock.move(24 * 60 * MINUTE)
    running.run(message(*map(running.stored, given)))
    assert running.stored(given[0]).due_at - running.clock.now() == DELAY_MAX - 5 * SECOND


def test_a_key_that_is_paused_again_has_turns_of_its_own(running):
    """Many runs of a long pause took turns far ahead; the runs of the next pause do not wait behind them."""
    first, second = tasks(6, flow=NARROW)[:3], tasks(6, flow=NARROW)[3:]
    running.stores(*first, *second)
    paused(running)
    running.clock.move(60 * MINUTE)
    running.run(message(*first))
    resume(running)
    running.clock.move(SECOND)
    paused(running)
    running.clock.move(SECOND)
    running.run(message(*second))
    waits = [running.stored(task).due_at - running.clock.now() for task in second]
    assert waits == [5 * SECOND + place * TURN for place in range(3)]


def test_a_run_that_would_wait_beyond_its_end_expires_under_a_paused_key(running):
    task = a_task(1, flow=NARROW, expires_at=START + 2 * SECOND)
    running.stores(task)
    paused(running)
    running.run(message(task))
    assert running.stored(task).state is State.EXPIRED


def test_nothing_begins_under_a_key_that_cannot_be_read(running):
    task, free = a_task(1, flow=NARROW), a_task(2)
    running.stores(task, free)
    running.flow.fails = {"keys"}
    tally = running.run(message(task), message(free, number=2))
    assert (tally.claimed, running.stored(task).attempts) == (1, 0)


def test_a_pinned_rate_counts_whatever_a_task_says(running):
    given = tasks(3, flow=FlowControl(key="mail", rate=100))
    running.stores(*given)
    pinned = flow_keys.pinned(FlowKey(), rate=1, period_seconds=2, parallelism=None)
    assert running.flow.change_key(("demo", "mail"), FlowKey(), pinned)
    running.run(message(*given))
    come_again(running, sent_at=START)
    assert starts(running) == [START + place * 2 * SECOND for place in range(3)]


def test_a_pinned_parallelism_holds_for_tasks_that_have_none(running):
    given = tasks(3, flow=FlowControl(key="mail", rate=1000))
    running.stores(*given)
    pinned = flow_keys.pinned(FlowKey(), rate=None, period_seconds=1, parallelism=1)
    assert running.flow.change_key(("demo", "mail"), FlowKey(), pinned)
    running.run(message(*given))
    assert running.flow.calls.count("change_room")
    assert running.flow.used("demo", ["mail"])["mail"].running(running.clock.now()) == 0


def test_a_batch_reads_its_keys_once_ahead_of_its_instant(running):
    given = tasks(20, flow=FlowControl(key="mail", rate=1000))
    running.stores(*given)
    running.run(*(message(task, number=number) for number, task in enumerate(given)))
    assert running.flow.calls.count("keys") == 1


def test_calls_that_an_open_breaker_puts_off_are_counted_once_each_with_its_error(running):
    breaker = rules.failed(Breaker(), 10, now=START, error="connection refused")
    assert running.flow.change_breaker(HERE, Breaker(), breaker)
    given = tasks(4)
    running.stores(*given)
    for _ in range(2):
        running.run(message(*given))
    found = running.flow.states("demo")[HERE[1]]
    assert (found.waiting, found.error) == (4, "connection refused")
    assert running.flow.change_breaker(HERE, breaker, rules.reset(breaker, now=running.clock.now()))
    assert running.flow.states("demo") == {}
