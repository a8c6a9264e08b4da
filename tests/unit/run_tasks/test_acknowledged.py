"""Tasks that end with their receiver's own word, and tasks that have a deadline."""

from dataclasses import replace

import pytest

from postdate.domain import transitions
from postdate.domain.due import Due, Via
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl
from postdate.domain.task import RECEIVER, Ack, State
from postdate.stores.flow_memory import MemoryFlow
from postdate.stores.tasks import Written
from postdate.targets.base import Delivered, Failed
from tests.unit.doubles import LEASE, MINUTE, SECOND, START, STEADY, a_task, claimed, in_state, message
from tests.unit.run_tasks.conftest import Running

ALONE = FlowControl(key="mail", parallelism=1)


class ThrottledFlow(MemoryFlow):
    """Refuses so many extensions of stays in a room."""

    def __init__(self):
        super().__init__()
        self.refuses = 0
        self.stays = []

    def stay(self, tenant, key, runs, until):
        if self.refuses:
            self.refuses -= 1
            raise Unavailable
        self.stays.append(until)
        super().stay(tenant, key, runs, until)


@pytest.fixture
def roomy():
    made = Running(flow=ThrottledFlow())
    yield made
    made.target.close()


def explicit(number=1, **fields):
    """A receiver of such a task has 30 seconds at a time."""
    return a_task(number, ack=Ack.EXPLICIT, **fields)


def accepted(running, task):
    running.stores(task)
    running.run(message(task))
    return running.stored(task)


def test_a_delivered_task_runs_on_under_its_receivers_lease(running):
    task = explicit()
    running.stores(task)
    tally = running.run(message(task))
    waiting = running.stored(task)
    assert (waiting.state, waiting.holder, waiting.token) == (State.RUNNING, RECEIVER, 1)
    assert waiting.lease_until == START + 30 * SECOND
    assert (tally.accepted, tally.succeeded, tally.failures, tally.failed_messages) == (1, 0, [], set())
    ((packet, delay),) = running.queue.sent
    assert (packet.dues, packet.seen, delay) == ((Due.of(waiting),), True, 30 * SECOND)


def test_a_receiver_that_says_nothing_is_called_again_with_a_newer_token(running):
    accepted(running, explicit())
    running.run(running.arrival())
    first, second = (delivery for _, delivery in running.target.started)
    assert [at for at, _ in running.target.started] == [START, START + 30 * SECOND]
    assert (first.token, second.token, second.attempt) == (1, 2, 2)
    task = running.stored(explicit())
    assert [line.why for line in task.history][2:4] == ["accepted", "was not acknowledged in time"]


def test_a_receiver_that_never_says_anything_ends_in_a_dead_letter(running):
    accepted(running, explicit())
    while running.queue.sent:
        running.run(running.arrival())
    dead = running.stored(explicit())
    assert (dead.state, dead.attempts) == (State.DEAD, STEADY.max_attempts)
    assert running.letters == [Due.of(dead)]


def test_a_lease_that_the_receiver_made_longer_is_waited_for(running):
    task = accepted(running, explicit())
    longer = START + 5 * MINUTE
    assert running.tasks.extend([task], longer) == [Written.DONE]
    running.run(running.arrival())
    assert len(running.target.started) == 1
    assert [packet.not_before for packet in running.queue.packets] == [longer]
    running.run(running.arrival())
    assert [at for at, _ in running.target.started] == [START, longer]


def test_a_run_that_its_receiver_has_ended_is_left_alone(running):
    task = accepted(running, explicit())
    done = transitions.succeed(task, now=START + SECOND, why="completed")
    assert running.tasks.commit([done]) == [Written.DONE]
    tally = running.run(running.arrival())
    assert (tally.dropped, running.stored(task)) == (1, done.after)


def test_a_word_that_is_faster_than_the_answer_counts(running):
    task = explicit()
    running.stores(task)

    def completes_at_once(delivery, report):
        done = transitions.succeed(running.stored(task), now=START, why="completed")
        assert running.tasks.commit([done]) == [Written.DONE]
        report(delivery, Delivered())

    running.target.script[task.id].append(completes_at_once)
    tally = running.run(message(task))
    assert (running.stored(task).state, tally.accepted, tally.fenced_off) == (State.SUCCEEDED, 0, 1)
    assert running.run(running.arrival()).dropped == 1
    assert running.queue.sent == []


def test_the_worker_holds_no_lease_that_is_the_receivers(running):
    task, slow = explicit(1), a_task(2)
    running.stores(task, slow)

    def ends_when_its_lease_is_made_longer(delivery, report):
        running.on_extend.append(lambda: report(delivery, Delivered()))

    running.target.script[slow.id].append(ends_when_its_lease_is_made_longer)
    running.tasks.before["commit"].extend([lambda: None, lambda: running.clock.move(LEASE / 2)])
    running.run(message(task, slow))
    assert running.tasks.leases_given == [START + LEASE / 2 + LEASE]
    assert running.stored(task).lease_until == START + 30 * SECOND
    assert running.stored(slow).state is State.SUCCEEDED


def test_a_worker_that_could_not_send_the_call_for_the_leases_end_leaves_one_that_does(running):
    task = explicit()
    running.stores(task)
    running.queue.refuses = 1
    assert running.run(message(task)).failed_messages == {"message-1"}
    waiting = running.stored(task)
    running.run(message(task, receives=2))
    ((packet, _),) = running.queue.sent
    assert (packet.dues, packet.not_before) == ((Due.of(waiting),), waiting.lease_until)
    running.run(running.arrival())
    assert len(running.target.started) == 2


def test_an_acceptance_whose_answer_was_lost_is_written_once(running):
    task = explicit()
    running.stores(task)

    def answer_gets_lost(delivery, report):
        running.tasks.unanswered[task.id] = 1
        report(delivery, Delivered())

    running.target.script[task.id].append(answer_gets_lost)
    tally = running.run(message(task))
    assert (tally.accepted, tally.fenced_off, running.stored(task).version) == (1, 0, 3)


def ends_in_room(roomy):
    return [*roomy.flow.room("demo", "mail").runs.values()]


def test_a_worker_that_dies_after_an_acceptance_leaves_the_run_in_its_room(roomy):
    task, ends = explicit(flow=ALONE, timeout_seconds=300), []
    roomy.stores(task)
    roomy.tasks.before["commit"].extend([lambda: None, lambda: ends.extend(ends_in_room(roomy))])
    roomy.run(message(task))
    assert ends == ends_in_room(roomy) == [START + 5 * MINUTE]
    assert roomy.flow.stays == ends


def test_an_acceptance_is_written_when_its_room_is(roomy):
    task, other = explicit(1, flow=ALONE, timeout_seconds=300), a_task(2)
    roomy.stores(task, other)

    def accepts(delivery, report):
        roomy.flow.refuses = 2
        report(delivery, Delivered())

    roomy.target.script[task.id].append(accepts)
    tally = roomy.run(message(task, other))
    assert (roomy.flow.refuses, tally.accepted, tally.succeeded) == (0, 1, 1)
    assert roomy.stored(task).version == 3
    assert ends_in_room(roomy) == [START + 5 * MINUTE]


def test_an_acceptance_whose_room_is_never_written_comes_back_with_its_message(roomy):
    task = explicit(flow=ALONE, timeout_seconds=300)
    roomy.stores(task)

    def accepts(delivery, report):
        roomy.flow.refuses = 1_000_000
        report(delivery, Delivered())

    roomy.target.script[task.id].append(accepts)
    tally = roomy.run(message(task))
    assert (tally.accepted, tally.failed_messages) == (0, {"message-1"})
    assert roomy.stored(task).holder == "worker-1"
    assert len(ends_in_room(roomy)) == 1


def test_a_short_lease_of_a_receiver_ends_its_stay_in_the_room(roomy):
    task = explicit(flow=ALONE, timeout_seconds=10)
    roomy.stores(task)
    roomy.run(message(task))
    assert ends_in_room(roomy) == [START + 10 * SECOND]


def test_a_delivery_that_failed_is_retried_as_any_other(running):
    task = explicit()
    running.stores(task)
    running.target.script[task.id].append(Failed(reason="http 500"))
    running.run(message(task))
    assert running.stored(task).state is State.RETRYING
    assert [via for via, _, _ in running.sent] == [Via.RETRY]


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYING])
def test_no_attempt_begins_after_the_deadline(running, state):
    task = replace(in_state(state), due_at=START, expires_at=START + SECOND)
    running.stores(task)
    running.clock.move(SECOND)
    tally = running.run(message(task))
    expired = running.stored(task)
    assert (expired.state, expired.finished_at) == (State.EXPIRED, START + SECOND)
    assert (tally.expired, tally.claimed, tally.dead, tally.failures) == (1, 0, 0, [])
    assert running.target.started == running.queue.sent == running.dead_letters.sent == []


def test_an_attempt_begins_up_to_the_deadline(running):
    task = a_task(expires_at=START + SECOND)
    running.stores(task)
    running.clock.move(SECOND - SECOND / 1000)
    assert running.run(message(task)).succeeded == 1


def test_a_retry_that_would_be_after_the_deadline_is_none(running):
    task = a_task(expires_at=START + 10 * SECOND)
    running.stores(task)
    running.target.script[task.id].append(Failed(reason="http 500"))
    tally = running.run(message(task))
    expired = running.stored(task)
    assert (expired.state, expired.error) == (State.EXPIRED, "http 500")
    assert (tally.expired, tally.retried, tally.failures) == (1, 0, [expired])
    assert running.queue.sent == running.dead_letters.sent == []


def test_a_task_whose_worker_died_is_not_begun_again_after_its_deadline(running):
    task = replace(claimed(a_task()), expires_at=START + SECOND)
    running.stores(task)
    running.clock.move(LEASE)
    tally = running.run(message(task, receives=2))
    assert (running.stored(task).state, tally.expired) == (State.EXPIRED, 1)
    assert running.target.started == running.dead_letters.sent == []
