"""Writes and messages of a queue of runs: an hour of a run a minute, each of which takes two minutes."""

import heapq
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from postdate.domain import transitions
from postdate.domain.definition import Overlap
from postdate.domain.due import Packet
from postdate.domain.following import QUEUE_MAX
from postdate.domain.task import Ack, State
from tests.unit.doubles import MINUTE, START, message
from tests.unit.run_tasks.plans import a_definition, run_at_start

MINUTES = 60


class Overload:
    """Messages arrive at their instants, and receivers end their runs."""

    def __init__(self, running):
        self.running = running
        self.numbers = count(1)
        self.writes = self.messages = 0
        self.heap, self.begun = [], set()
        definition = a_definition(overlap=Overlap.QUEUE)
        template = replace(definition.template, ack=Ack.EXPLICIT, timeout_seconds=900)
        self.definition = replace(definition, template=template)
        first = run_at_start(self.definition)
        running.definitions.add(self.definition)
        running.stores(first)
        running.dies_at = START + 24 * 60 * MINUTE
        self.commit, self.add = running.tasks.commit, running.tasks.add
        running.tasks.commit = lambda changes: self.counted(changes, self.commit)
        running.tasks.add = lambda rows: self.counted(rows, self.add)
        self.at(first.due_at, message(first))

    def counted(self, rows, write):
        self.writes += len(rows)
        return write(rows)

    def at(self, instant, what):
        heapq.heappush(self.heap, (instant, next(self.numbers), what))

    def go_on_until(self, end):
        while self.heap[0][0] <= end:
            instant, number, what = heapq.heappop(self.heap)
            self.running.clock.sleep_until(instant)
            if isinstance(what, str):
                self.end(self.running.tasks.get(what))
            else:
                self.messages += 1
                self.work(replace(what, message_id=f"message-{number}"))

    def work(self, received):
        self.running.run(received)
        for packet, delay in self.running.queue.take():
            self.at(self.running.clock.now() + delay, self.received(packet))
        for due in received.packet.dues:
            task = self.running.tasks.get(due.id)
            if task.state is State.RUNNING and task.id not in self.begun:
                self.begun.add(task.id)
                self.at(self.running.clock.now() + 2 * MINUTE, task.id)

    def received(self, packet: Packet):
        return message(*packet.dues, via=packet.via, tenant=packet.tenant, seen=packet.seen)

    def end(self, task):
        self.commit([transitions.succeed(task, now=self.running.clock.now(), why="completed")])


@pytest.fixture
def overload(running):
    return Overload(running)


def test_a_queue_that_never_empties_writes_and_sends_little(overload):
    overload.go_on_until(START + MINUTES * MINUTE)
    states = Counter(run.state for run in overload.running.tasks._tasks.values())
    # One of those that wait is the run to come.
    assert states[State.PENDING] <= QUEUE_MAX + 1
    assert states[State.SUCCEEDED] >= MINUTES / 2 - 2
    assert sum(states.values()) == MINUTES + 2
    assert overload.writes < 6 * MINUTES
    assert overload.messages < 20 * MINUTES


def test_a_queue_of_one_asks_by_messages_alone(overload):
    overload.go_on_until(START + MINUTE + 30 * MINUTE / 60)
    before = overload.writes
    overload.go_on_until(START + MINUTE + 55 * MINUTE / 60)
    assert overload.writes == before
