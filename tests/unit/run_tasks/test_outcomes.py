"""State of a task whose attempt succeeds, fails, or fails for good."""

from dataclasses import replace

import pytest

from postdate.domain.breaker import FAILURES_TO_OPEN
from postdate.domain.due import Due, Via
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import unique_part
from postdate.domain.task import Destination, State
from postdate.targets.base import Delivered, Failed, Untried
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, STEADY, a_task, claimed, in_state, message

BROKEN = Failed(reason="http 500", http_status=500)
GONE = Failed(reason="http 410", retry=False, http_status=410)
AWAY = Failed(reason="connection refused", down=True)


def test_a_delivered_task_has_succeeded_at_its_first_attempt(running):
    task = a_task()
    running.stores(task)
    tally = running.run(message(task))
    done = running.stored(task)
    assert (done.state, done.attempts, done.token, done.lateness_ms) == (State.SUCCEEDED, 1, 1, 0)
    assert [line.why for line in done.history] == ["registered", "sweep", "http 200"]
    assert (tally.claimed, tally.succeeded, tally.failed_messages) == (1, 1, set())
    assert running.queue.sent == running.dead_letters.sent == []


def test_the_target_gets_the_run_its_attempt_and_its_fencing_token(running):
    task = replace(in_state(State.RETRYING), due_at=START, token=6)
    running.stores(task)
    running.run(message(task))
    ((_, delivery),) = running.target.started
    assert (delivery.run_id, delivery.task_id, delivery.tenant) == (task.id, task.id, "demo")
    assert (delivery.attempt, delivery.token, delivery.planned_at) == (2, 7, task.planned_at)


def test_each_task_goes_to_the_target_of_its_kind(running):
    hook, queue = a_task(1), replace(a_task(2), destination=Destination(type="sqs", address="q"))
    running.stores(hook, queue)
    running.run(message(hook, queue))
    assert [delivery.task_id for _, delivery in running.target.started] == [hook.id]
    assert [delivery.task_id for _, delivery in running.queue_target.started] == [queue.id]


def test_a_task_whose_target_is_of_no_known_kind_fails_its_attempt_and_no_other(running):
    odd, fine = replace(a_task(1), destination=Destination(type="pigeon", address="loft")), a_task(2)
    running.stores(odd, fine)
    tally = running.run(message(odd, fine))
    assert (tally.retried, tally.succeeded) == (1, 1)
    assert "pigeon" in running.stored(odd).error


def test_a_failed_attempt_is_tried_again_by_a_message_that_arrives_a_second_early(running):
    task = a_task()
    running.stores(task)
    running.target.script[task.id].append(BROKEN)
    tally = running.run(message(task))
    retrying = running.stored(task)
    assert (retrying.state, retrying.due_at, retrying.error) == (
        State.RETRYING,
        START + 10 * SECOND,
        "http 500",
    )
    assert running.sent == [(Via.RETRY, Due.of(retrying), 9 * SECOND)]
    assert (tally.retried, [failed.id for failed in tally.failures]) == (1, [task.id])

    running.run(running.arrival())
    done = running.stored(task)
    assert [at for at, _ in running.target.started] == [START, START + 10 * SECOND]
    assert (done.state, done.attempts, done.token, done.error) == (State.SUCCEEDED, 2, 2, None)


SLOW = RetryPolicy(max_attempts=3, initial_seconds=930, max_seconds=930, jitter=False)


def written_after(running, takes):
    """The outcome of a first attempt, whose retry is 15 minutes and a half away, is written so much later."""
    task = replace(a_task(), retry=SLOW)
    running.stores(task)
    running.target.script[task.id].append(BROKEN)
    running.tasks.before["commit"].extend([lambda: None, lambda: running.clock.move(takes)])
    running.run(message(task))
    return running.stored(task)


@pytest.mark.parametrize("takes", [12 * MINUTE + SECOND, 14 * MINUTE])
def test_a_retry_that_is_written_when_its_minute_may_be_open_is_called_at_once(running, takes):
    """The open pass may be over, and the closing pass takes it for an item that was there before."""
    waiting = written_after(running, takes)
    assert waiting.due_at == START + 930 * SECOND
    assert [due for _, due, _ in running.sent] == [Due.of(waiting)]


def test_a_retry_that_is_written_before_its_minute_can_be_open_is_left_to_the_sweep(running):
    waiting = written_after(running, 11 * MINUTE)
    assert waiting.due_at == START + 930 * SECOND
    assert running.sent == []


def test_the_wait_that_a_receiver_asks_for_is_kept(running):
    task = a_task()
    running.stores(task)
    running.target.script[task.id].append(replace(BROKEN, retry_after_seconds=300))
    running.run(message(task))
    assert running.sent == [(Via.RETRY, Due.of(running.stored(task)), 299 * SECOND)]


def test_a_retry_beyond_fifteen_minutes_goes_by_its_pointer_and_no_message(running):
    far = replace(STEADY, initial_seconds=901, max_seconds=1800)
    task = a_task(retry=far)
    running.stores(task)
    running.target.script[task.id].append(BROKEN)
    running.run(message(task))
    retrying = running.stored(task)
    assert running.queue.sent == []
    slot = PLAN.slot(retrying.due_at, unique_part(task.id))
    assert [entry.due for entry in running.tasks.due_in(slot)] == [Due.of(retrying)]


def test_a_retry_in_exactly_fifteen_minutes_still_goes_by_message(running):
    task = a_task(retry=replace(STEADY, initial_seconds=900))
    running.stores(task)
    running.target.script[task.id].append(BROKEN)
    running.run(message(task))
    assert running.sent == [(Via.RETRY, Due.of(running.stored(task)), 899 * SECOND)]


def test_an_untried_delivery_uses_up_no_attempt(running):
    task = a_task(retry=replace(STEADY, max_attempts=1))
    running.stores(task)
    running.target.script[task.id].extend([Untried(reason="its name was not looked up in time")] * 12)
    running.run(message(task))
    while running.queue.sent:
        waits = running.stored(task)
        assert (waits.state, waits.attempts) == (State.RETRYING, 0)
        assert 5 * SECOND <= waits.due_at - running.clock.now() <= 10 * SECOND
        running.run(running.arrival())
    assert (running.stored(task).state, running.stored(task).attempts) == (State.SUCCEEDED, 1)


def test_an_untried_delivery_feeds_no_breaker(running):
    for number in range(1, 25):
        task = a_task(number)
        running.stores(task)
        running.target.script[task.id].append(Untried(reason="its name was not looked up in time"))
        running.run(message(task))
    assert running.flow.states("demo") == {}


def test_an_untried_delivery_ends_no_row_of_failures(running):
    untried = Untried(reason="its name was not looked up in time")
    receipts = [*[AWAY] * (FAILURES_TO_OPEN - 1), untried, AWAY]
    for number, receipt in enumerate(receipts, 1):
        task = a_task(number)
        running.stores(task)
        running.target.script[task.id].append(receipt)
        running.run(message(task))
    (breaker,) = running.flow.states("demo").values()
    assert breaker.opened == 1


@pytest.mark.parametrize("script", [[GONE], [BROKEN] * STEADY.max_attempts])
def test_a_task_that_failed_for_good_is_dead_and_its_letter_names_that_death(running, script):
    task = a_task()
    running.stores(task)
    running.target.script[task.id].extend(script)
    running.run(message(task))
    while running.queue.sent:
        running.run(running.arrival())
    dead = running.stored(task)
    assert (dead.state, dead.attempts, dead.error) == (State.DEAD, len(script), script[0].reason)
    ((packet, delay),) = running.dead_letters.sent
    assert (packet.via, packet.dues, delay) == (Via.DEAD, (Due.of(dead),), 0 * SECOND)


def test_a_redriven_letter_runs_the_task_again_with_all_its_attempts_and_a_newer_token(running):
    task = a_task()
    running.stores(task)
    running.target.script[task.id].extend([GONE, BROKEN, BROKEN])
    running.run(message(task))
    running.clock.move(60 * MINUTE)
    running.run(message(*running.letters, via=Via.DEAD))
    while running.queue.sent:
        running.run(running.arrival())
    done = running.stored(task)
    assert (done.state, done.attempts) == (State.SUCCEEDED, 3)
    assert [delivery.token for _, delivery in running.target.started] == [1, 2, 3, 4]
    assert [delivery.attempt for _, delivery in running.target.started] == [1, 1, 2, 3]


def test_a_letter_redriven_twice_makes_one_run(running):
    task = in_state(State.DEAD)
    running.stores(task)
    letter = message(Due.of(task), via=Via.DEAD)
    running.run(letter)
    tally = running.run(letter)
    assert len(running.target.started) == 1
    assert tally.dropped == 1


def test_a_letter_redriven_once_more_sends_the_lost_call_of_its_task_again(running):
    task = in_state(State.DEAD)
    running.stores(task)
    running.target.script[task.id].append(BROKEN)
    letter = message(Due.of(task), via=Via.DEAD)
    running.run(letter)
    running.queue.take()
    running.run(letter)
    waiting = running.stored(task)
    assert [due for _, due, _ in running.sent] == [Due.of(waiting)]
    running.run(running.arrival())
    assert running.stored(task).state is State.SUCCEEDED


def test_a_letter_redriven_after_the_deadline_ends_its_task_without_an_attempt(running):
    task = replace(in_state(State.DEAD), expires_at=START)
    running.stores(task)
    tally = running.run(message(Due.of(task), via=Via.DEAD))
    assert (running.stored(task).state, tally.expired, running.target.started) == (State.EXPIRED, 1, [])


def test_the_attempt_of_a_worker_that_died_counts_and_the_last_one_ends_in_a_letter(running):
    task = replace(claimed(a_task()), attempts=STEADY.max_attempts)
    running.stores(task)
    running.clock.sleep_until(task.lease_until)
    tally = running.run(message(task, receives=2))
    dead = running.stored(task)
    assert (dead.state, running.letters, tally.dead) == (State.DEAD, [Due.of(dead)], 1)
    assert running.target.started == []


def test_a_worker_that_died_in_a_delivery_is_followed_by_one_with_a_newer_token(running):
    task = claimed(a_task())
    running.stores(task)
    running.clock.sleep_until(task.lease_until)
    running.run(message(a_task(), receives=2))
    ((_, delivery),) = running.target.started
    assert (delivery.attempt, delivery.token) == (2, 2)
    assert running.stored(task).state is State.SUCCEEDED


def test_the_items_of_a_message_do_not_share_a_fate(running):
    fine, broken, gone = (a_task(number) for number in (1, 2, 3))
    running.stores(fine, broken, gone)
    running.target.script[broken.id].append(BROKEN)
    running.target.script[gone.id].append(GONE)
    tally = running.run(message(fine, broken, gone))
    states = [running.stored(task).state for task in (fine, broken, gone)]
    assert states == [State.SUCCEEDED, State.RETRYING, State.DEAD]
    assert (tally.succeeded, tally.retried, tally.dead) == (1, 1, 1)


def test_items_of_one_batch_are_delivered_side_by_side(running):
    tasks = [a_task(number) for number in range(25)]
    running.stores(*tasks)
    waiting = []

    def answer_when_all_have_started(delivery, report):
        waiting.append((delivery, report))
        if len(waiting) == len(tasks):
            for held, tell in waiting:
                tell(held, Delivered())

    for task in tasks:
        running.target.script[task.id].append(answer_when_all_have_started)
    assert running.run(message(*tasks)).succeeded == len(tasks)


def test_a_due_call_begins_before_a_waiting_outcome_is_written(running):
    first, second = a_task(1), a_task(2, due_at=START + SECOND)
    running.stores(first, second)
    seen = []

    def takes_a_second(delivery, report):
        running.clock.move(SECOND)
        report(delivery, Delivered())

    def looks_at_the_first(delivery, report):
        seen.append(running.stored(first).state)
        report(delivery, Delivered())

    running.target.script[first.id].append(takes_a_second)
    running.target.script[second.id].append(looks_at_the_first)
    assert running.run(message(first, second)).succeeded == 2
    assert seen == [State.RUNNING]
