from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain import transitions, verdicts
from postdate.domain.due import Due, Via
from postdate.domain.errors import InvalidState, NotFound, Unavailable
from postdate.domain.flow import FlowControl, Room, enter
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import Ack, State
from postdate.domain.transitions import Transition
from postdate.domain.verdicts import Buried
from tests.unit.doubles import LEASE, SECOND, START, STEADY, a_task, claimed

NARROW = FlowControl(key="mail", parallelism=1)
SLOW = RetryPolicy(max_attempts=3, initial_seconds=3600, max_seconds=3600, jitter=False)


def running(service, *, accepted=True, retry=STEADY, **fields):
    """A run in its receiver's hands."""
    task = a_task(due_at=START, ack=Ack.EXPLICIT, retry=retry, **fields)
    service.tasks.add([task])
    claim = Transition(before=task, after=claimed(task))
    service.tasks.commit([claim])
    if not accepted:
        return claim.after
    change = transitions.accept(claim.after, now=START)
    service.tasks.commit([change])
    return change.after


def say(service, word, task, *, token=1, tenant="demo"):
    acknowledger = service.acknowledger
    said = {
        "complete": lambda: acknowledger.complete(tenant, task.id, token=token),
        "fail": lambda: acknowledger.fail(tenant, task.id, token=token, error="no disk", final=False),
        "final": lambda: acknowledger.fail(tenant, task.id, token=token, error=None, final=True),
        "heartbeat": lambda: acknowledger.extend(tenant, task.id, token=token, seconds=None),
    }
    return said[word]()


WORDS = ["complete", "fail", "final", "heartbeat"]


def test_a_completed_run_has_succeeded_and_a_second_word_is_answered_the_same(service):
    task = running(service)
    done = say(service, "complete", task)
    assert (done.state, done.history[-1].why) == (State.SUCCEEDED, "completed")
    assert service.tasks.get(task.id) == done
    assert say(service, "complete", task) == done


def test_a_word_that_is_faster_than_the_workers_note_counts(service):
    task = running(service, accepted=False)
    done = say(service, "complete", task)
    late = transitions.accept(task, now=START + SECOND)
    service.tasks.commit([late])
    assert service.tasks.get(task.id) == done


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("token", [2, 7])
def test_another_token_is_refused_with_the_state(service, word, token):
    task = running(service)
    with pytest.raises(InvalidState) as refused:
        say(service, word, task, token=token)
    assert refused.value.state == "RUNNING"
    assert service.tasks.get(task.id) == task


@pytest.mark.parametrize("word", WORDS)
def test_an_attempt_that_was_given_up_has_nothing_to_say(service, word):
    task = running(service)
    taken = verdicts.claim(
        task,
        Due.of(task),
        now=task.lease_until,
        lease=LEASE,
        holder="other",
        repeated=True,
        why="sweep",
    )
    service.tasks.commit([taken])
    with pytest.raises(InvalidState):
        say(service, word, task, token=1)
    assert service.tasks.get(task.id).token == 2


@pytest.mark.parametrize("word", WORDS)
def test_a_run_that_ends_with_the_answer_takes_no_word(service, word):
    task = claimed(a_task())
    service.tasks.add([task])
    with pytest.raises(InvalidState):
        say(service, word, task)
    assert service.tasks.get(task.id) == task


@pytest.mark.parametrize("word", WORDS)
def test_a_run_that_waits_takes_no_word(service, word):
    task = a_task(ack=Ack.EXPLICIT)
    service.tasks.add([task])
    with pytest.raises(InvalidState) as refused:
        say(service, word, task, token=0)
    assert refused.value.state == "PENDING"


@pytest.mark.parametrize("word", WORDS)
def test_another_tenants_run_is_not_there(service, word):
    task = running(service)
    with pytest.raises(NotFound):
        say(service, word, task, tenant="other")


@pytest.mark.parametrize("word", WORDS)
def test_a_table_that_fails_is_told(service, word):
    task = running(service)
    service.clock.move(SECOND)
    service.tasks.unavailable[task.id] = 1
    with pytest.raises(Unavailable):
        say(service, word, task)


class TestFailures:
    def test_another_attempt_follows_as_the_policy_says(self, service):
        task = running(service)
        failed = say(service, "fail", task)
        assert (failed.state, failed.error, failed.due_at) == (State.RETRYING, "no disk", START + 10 * SECOND)
        ((packet, delay),) = service.queue.sent
        assert (packet.via, packet.dues, delay) == (Via.RETRY, (Due.of(failed),), 9 * SECOND)

    def test_a_retry_that_is_far_away_is_left_to_its_sweep(self, service):
        failed = say(service, "fail", running(service, retry=SLOW))
        assert failed.due_at == START + timedelta(hours=1)
        assert service.queue.sent == []

    @pytest.mark.parametrize("why", ["final", "used up"])
    def test_the_call_of_a_death_leads_the_executor_to_bury_it(self, service, why):
        task = running(service, retry=STEADY if why == "final" else replace(STEADY, max_attempts=1))
        dead = say(service, "final" if why == "final" else "fail", task)
        assert dead.state is State.DEAD
        (packet,) = service.queue.packets
        (due,) = packet.dues
        assert packet.seen
        verdict = verdicts.claim(
            dead, due, now=START, lease=LEASE, holder="w", repeated=packet.seen, why="retry"
        )
        assert verdict == Buried()

    @pytest.mark.parametrize("word", ["fail", "final"])
    def test_a_repeated_word_is_answered_the_same_and_sends_the_call_again(self, service, word):
        task = running(service)
        service.queue.refuses = 1
        first = say(service, word, task)
        assert service.queue.sent == []
        assert say(service, word, task) == first
        assert [due.id for packet in service.queue.packets for due in packet.dues] == [task.id]

    @pytest.mark.parametrize("word", ["fail", "final"])
    def test_after_a_failure_another_token_is_refused(self, service, word):
        task = running(service)
        failed = say(service, word, task)
        with pytest.raises(InvalidState) as refused:
            say(service, word, task, token=7)
        assert refused.value.state == failed.state

    def test_past_its_deadline_it_has_expired_and_nothing_is_called(self, service):
        task = running(service, expires_at=START + 5 * SECOND)
        assert say(service, "fail", task).state is State.EXPIRED
        assert service.queue.sent == []


class TestHeartbeats:
    def test_the_lease_runs_from_now(self, service):
        task = running(service)
        service.clock.move(20 * SECOND)
        extended = say(service, "heartbeat", task)
        assert extended.lease_until == START + 50 * SECOND
        assert service.tasks.get(task.id).lease_until == START + 50 * SECOND
        assert extended.version == task.version

    def test_a_lease_is_never_made_shorter(self, service):
        task = running(service)
        extended = service.acknowledger.extend("demo", task.id, token=1, seconds=5)
        assert extended.lease_until == START + 30 * SECOND
        assert service.tasks.get(task.id).lease_until == START + 30 * SECOND

    def test_of_a_heartbeat_and_an_end_one_wins(self, service):
        task = running(service)
        service.clock.move(SECOND)
        service.tasks.before["extend"].append(lambda: say(service, "complete", task))
        with pytest.raises(InvalidState) as refused:
            say(service, "heartbeat", task)
        assert refused.value.state == "SUCCEEDED"


class TestRooms:
    """A run in its receiver's hands is in its key's room."""

    @pytest.fixture
    def task(self, service):
        task = running(service, flow=NARROW)
        entered = enter(
            Room(), [task.name_in_room, "other"], parallelism=2, until=task.lease_until, now=START
        )
        assert service.flow.change_room("demo", "mail", Room(), entered.room)
        return task

    def room(self, service):
        return service.flow.room("demo", "mail")

    @pytest.mark.parametrize("word", ["complete", "fail", "final"])
    def test_a_run_that_its_receiver_ends_leaves_at_once_and_alone(self, service, task, word):
        service.clock.move(SECOND)
        say(service, word, task)
        assert self.room(service).runs.keys() == {"other"}

    def test_how_long_it_was_in_sets_the_pace_for_those_who_wait(self, service, task):
        service.clock.move(11 * SECOND)
        say(service, "complete", task)
        assert self.room(service).stay == 4 * SECOND

    def test_a_second_word_makes_up_for_what_the_first_could_not_tell(self, service, task):
        service.clock.move(11 * SECOND)
        service.flow.unavailable = 1
        done = say(service, "complete", task)
        assert task.name_in_room in self.room(service).runs
        service.clock.move(100 * SECOND)
        assert say(service, "complete", task) == done
        assert (self.room(service).runs.keys(), self.room(service).stay) == ({"other"}, 4 * SECOND)
        service.clock.move(SECOND)
        say(service, "complete", task)
        assert self.room(service).stay == 4 * SECOND

    def test_a_heartbeat_lets_it_stay(self, service, task):
        service.clock.move(20 * SECOND)
        extended = say(service, "heartbeat", task)
        assert self.room(service).runs[task.name_in_room] == extended.lease_until == START + 50 * SECOND
        assert self.room(service).runs["other"] == START + 30 * SECOND

    @pytest.mark.parametrize("word", WORDS)
    def test_a_room_that_cannot_be_told_is_no_error_for_the_receiver(self, service, task, word):
        service.clock.move(SECOND)
        service.flow.unavailable = 1
        say(service, word, task)
        assert self.room(service).runs[task.name_in_room] == START + 30 * SECOND

    @pytest.mark.parametrize("word", WORDS)
    def test_an_old_token_moves_nobody(self, service, task, word):
        with pytest.raises(InvalidState):
            say(service, word, task, token=7)
        assert self.room(service).runs == {task.name_in_room: task.lease_until, "other": task.lease_until}

    @pytest.mark.parametrize("flow", [None, FlowControl(key="mail", rate=10)])
    def test_a_run_without_a_room_asks_for_none(self, service, flow):
        task = running(service, flow=flow)
        service.flow.unavailable = 1
        service.clock.move(SECOND)
        say(service, "heartbeat", task)
        say(service, "complete", task)
        assert service.flow.unavailable == 1

    def test_after_a_second_life_only_the_newest_attempt_counts(self, service, task):
        failed = say(service, "final", task)
        service.clock.move(100 * SECOND)
        again = claimed(failed, now=service.clock.now())
        service.tasks.commit([Transition(before=failed, after=again)])
        room = self.room(service)
        entered = enter(
            room, [again.name_in_room], parallelism=2, until=again.lease_until, now=service.clock.now()
        )
        service.flow.change_room("demo", "mail", room, entered.room)
        before = self.room(service).stay
        service.clock.move(before)
        say(service, "complete", again, token=2)
        assert self.room(service).stay == before
