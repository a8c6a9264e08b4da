"""Calls to slow destinations: how a worker learns that one is slow, and which calls go by the lane for such."""

from dataclasses import replace

import pytest

from functions.run_tasks.circuits import circuit
from functions.run_tasks.in_flight import SLOW_SHARE, InFlight
from postdate.domain import breaker as rules
from postdate.domain.breaker import SLOW_AFTER, SLOW_FOR, Breaker
from postdate.domain.due import Via
from postdate.domain.task import Ack, Destination, State
from postdate.targets.base import Delivered
from tests.unit.doubles import HOOK, MINUTE, SECOND, START, a_task, in_state, message

TAKEN = Delivered(http_status=200)
HERE = circuit("demo", HOOK)
OTHER = Destination(type="webhook", address="https://other.example.com/")


def is_slow(running, way=HERE):
    return running.flow.breakers([way])[way].is_slow(running.clock.now())


def slow(running, way=HERE):
    """Marks the destination as slow, as another worker would have done a moment ago."""
    before = running.flow.breakers([way])[way]
    assert running.flow.change_breaker(way, before, rules.slowed(before, now=running.clock.now()))


def takes(running, task, time):
    """To answer, as the clock has it; it is the last of its batch to be answered."""

    def answer(delivery, report):
        running.clock.move(time)
        running.further.lies.append([])
        _later(running, lambda: report(delivery, TAKEN))

    running.target.script[task.id].append(answer)


def _later(running, tell):
    """The instant after the worker has looked around."""
    asked = running.further.ask

    def ask(took, visible_after):
        running.further.ask = asked
        tell()
        asked(took, visible_after)

    running.further.ask = ask


def test_a_destination_that_keeps_a_worker_for_two_seconds_is_slow_while_it_does(running):
    task = a_task()
    running.stores(task)
    takes(running, task, SLOW_AFTER)
    running.run(message(task))
    assert is_slow(running)
    assert running.flow.breakers([HERE])[HERE].slow_until == START + SLOW_AFTER + SLOW_FOR


def test_one_that_answers_sooner_is_not(running):
    task = a_task()
    running.stores(task)
    takes(running, task, SLOW_AFTER - SECOND / 4)
    running.run(message(task))
    assert not is_slow(running)


def test_one_slow_answer_among_many_quick_ones_makes_no_destination_slow(running):
    tasks = [a_task(number) for number in range(1, SLOW_SHARE + 2)]
    running.stores(*tasks)
    takes(running, tasks[-1], SLOW_AFTER)
    running.run(message(*tasks))
    assert not is_slow(running)


def test_a_call_to_a_slow_destination_is_moved_before_its_instant_and_as_it_came(running):
    slow(running)
    there = a_task(1, due_at=START + 2 * SECOND)
    elsewhere = a_task(2, due_at=START + 2 * SECOND, destination=OTHER)
    foreign = a_task(3, due_at=START + 2 * SECOND, tenant="acme")
    running.stores(there, elsewhere, foreign)
    tally = running.run(message(there, elsewhere, via=Via.RETRY), message(foreign, number=2, tenant="acme"))
    ((packet, delay),) = running.slow.sent
    assert ([due.id for due in packet.dues], packet.via, packet.seen) == ([there.id], Via.RETRY, False)
    assert delay == SECOND
    assert {delivery.run_id for _, delivery in running.target.started} == {elsewhere.id, foreign.id}
    assert (running.stored(there).version, tally.moved, tally.failed_messages) == (1, 1, set())


def test_a_call_that_a_worker_had_before_is_moved_as_such(running):
    slow(running)
    task = a_task()
    running.stores(task)
    running.run(message(task, receives=2))
    assert [packet.seen for packet in running.slow.packets] == [True]


def test_the_lane_runs_what_it_is_given_and_sends_it_on_by_itself(running):
    slow(running)
    running.moves_slow = False
    task = a_task()
    running.stores(task)
    running.run(message(task))
    assert running.stored(task).state is State.SUCCEEDED
    assert running.slow.sent == []


def test_a_destination_that_became_slow_since_the_call_came_is_seen_at_its_instant(running):
    task = a_task(due_at=START + 3 * SECOND)
    running.stores(task)
    sleep = running.clock.sleep_until

    def meanwhile(instant):
        running.clock.sleep_until = sleep
        slow(running)
        sleep(instant)
        running.clock.move(2 * SECOND)

    running.clock.sleep_until = meanwhile
    running.run(message(task))
    assert running.slow.ids == [task.id]
    assert running.stored(task).version == 1


def test_after_ten_minutes_without_a_slow_answer_its_calls_stay(running):
    slow(running)
    running.clock.move(SLOW_FOR)
    running.dies_at += SLOW_FOR
    task = a_task(due_at=running.clock.now())
    running.stores(task)
    running.run(message(task))
    assert running.stored(task).state is State.SUCCEEDED


def test_a_call_to_a_slow_destination_that_is_down_waits_for_its_probe(running):
    down = rules.failed(Breaker(), 10, now=START)
    assert running.flow.change_breaker(HERE, Breaker(), rules.slowed(down, now=START))
    task = a_task()
    running.stores(task)
    running.run(message(task))
    assert running.slow.sent == []
    assert running.stored(task).history[-1].why == "the circuit breaker of its destination is open"


def test_a_call_that_can_not_be_moved_comes_back(running):
    slow(running)
    running.slow.refuses = 1
    task = a_task()
    running.stores(task)
    assert running.run(message(task)).failed_messages == {"message-1"}


def test_a_call_whose_task_has_ended_is_dropped_where_it_is(running):
    slow(running)
    task = in_state(State.SUCCEEDED)
    running.stores(task)
    assert running.run(message(task)).dropped == 1
    assert running.slow.sent == []


@pytest.mark.parametrize(
    ("ack", "timeout", "waits"), [(Ack.EXPLICIT, 900, 60), (Ack.EXPLICIT, 5, 5), (Ack.RESPONSE, 900, 890)]
)
def test_the_answer_to_a_delivery_that_is_acknowledged_later_is_not_waited_for_as_long(
    running, ack, timeout, waits
):
    """One that was registered with more for its answer, when that was allowed, has what is left of its worker's."""
    running.dies_at = START + 890 * SECOND
    task = replace(a_task(), ack=ack, timeout_seconds=timeout)
    running.stores(task)
    running.run(message(task))
    assert [delivery.timeout_seconds for _, delivery in running.target.started] == [waits]


def test_an_ended_delivery_is_not_watched_any_more():
    in_flight = InFlight()
    in_flight.begin("a", HERE, START)
    in_flight.begin("b", HERE, START + SECOND)
    assert in_flight.looks_at == START + SLOW_AFTER
    in_flight.end("a", START + SECOND)
    assert in_flight.looks_at == START + SECOND + SLOW_AFTER
    assert in_flight.slow(START + MINUTE) == {HERE}
    assert in_flight.slow(START + MINUTE) == set()
    assert in_flight.looks_at is None
