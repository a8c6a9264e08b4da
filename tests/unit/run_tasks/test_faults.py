"""A batch while stores and queues fail, workers are slow, and answers get lost."""

from dataclasses import replace

import pytest

from postdate.domain.due import Due, Via
from postdate.domain.errors import Unavailable
from postdate.domain.errors import Unreadable as OfNewerCode
from postdate.domain.task import Payload, State
from postdate.stores.tenants import Tenant
from postdate.targets.base import Delivered, Failed
from tests.unit.doubles import LEASE, MINUTE, SECOND, START, STEADY, a_task, claimed, in_state, message

BROKEN = Failed(reason="http 500")
GONE = Failed(reason="http 410", retry=False)
ALWAYS = 99


def refuse(*_):
    raise Unavailable


def started(running):
    return [delivery.task_id for _, delivery in running.target.started]


def test_a_table_that_cannot_be_read_sends_every_message_back(running):
    tasks = [a_task(1), a_task(2)]
    running.stores(*tasks)
    running.tasks.before["get_many"].append(refuse)
    tally = running.run(message(tasks[0], number=1), message(tasks[1], number=2))
    assert (tally.failed_messages, started(running)) == ({"message-1", "message-2"}, [])


def test_a_claim_that_cannot_be_written_is_tried_again_soon_and_holds_nobody_up(running):
    stuck, fine = a_task(1), a_task(2)
    running.stores(stuck, fine)
    running.tasks.unavailable[stuck.id] = 4
    tally = running.run(message(stuck, number=1), message(fine, number=2))
    assert (tally.failed_messages, started(running)) == (set(), [fine.id])
    assert (tally.deferred, running.stored(stuck)) == (1, stuck)
    running.run(running.arrival())
    assert running.stored(stuck).state is State.SUCCEEDED
    assert running.clock.now() - START < 5 * SECOND


def test_throttled_claims_wait_the_longer_the_later_they_are_and_stay_in_one_packet(running):
    tasks = [a_task(number, due_at=START - 40 * SECOND + number * SECOND / 10) for number in range(5)]
    running.stores(*tasks)
    running.tasks.unavailable |= {task.id: 4 for task in tasks}
    tally = running.run(message(*tasks))
    ((packet, delay),) = running.queue.take()
    assert (tally.deferred, len(packet.dues)) == (5, 5)
    # A quarter of some 40 s: half of the lateness, and the draw is one half.
    assert delay == 10 * SECOND


def test_a_claim_that_is_refused_keeps_its_message_and_no_other(running):
    odd, fine = a_task(1), a_task(2)
    running.stores(odd, fine)
    running.tasks.refused.add(odd.id)
    tally = running.run(message(odd, number=1), message(fine, number=2))
    assert (tally.failed_messages, started(running)) == ({"message-1"}, [fine.id])


def test_a_claim_that_could_not_be_written_at_first_is_made_in_the_same_batch(running):
    task = a_task()
    running.stores(task)
    running.tasks.unavailable[task.id] = 2
    tally = running.run(message(task))
    assert (tally.succeeded, tally.failed_messages) == (1, set())
    assert running.target.started[0][0] - START < SECOND / 5


def test_a_claim_whose_answer_was_lost_is_still_this_workers_attempt(running):
    task = a_task(retry=replace(a_task().retry, max_attempts=1))
    running.stores(task)
    running.tasks.unanswered[task.id] = 1
    tally = running.run(message(task))
    done = running.stored(task)
    assert (started(running), done.state, done.attempts) == ([task.id], State.SUCCEEDED, 1)
    assert (tally.succeeded, tally.failed_messages) == (1, set())


def test_an_outcome_that_cannot_be_written_is_written_later_and_holds_nobody_up(running):
    stuck, fine = a_task(1), a_task(2, due_at=START + 3 * SECOND)
    running.stores(stuck, fine)

    def table_fails_for_a_minute(delivery, report):
        running.tasks.unavailable[stuck.id] = 30
        report(delivery, Delivered())

    running.target.script[stuck.id].append(table_fails_for_a_minute)
    tally = running.run(message(stuck, number=1), message(fine, number=2))
    assert (tally.failed_messages, tally.succeeded) == (set(), 2)
    assert [at for at, _ in running.target.started] == [stuck.due_at, fine.due_at]
    assert [running.stored(task).attempts for task in (stuck, fine)] == [1, 1]


def test_an_outcome_that_cannot_be_written_while_its_worker_lives_keeps_its_message_and_no_other(running):
    stuck, fine = a_task(1), a_task(2)
    running.stores(stuck, fine)

    def table_fails_from_now(delivery, report):
        running.tasks.unavailable[stuck.id] = ALWAYS
        report(delivery, Delivered())

    running.target.script[stuck.id].append(table_fails_from_now)
    running.dies_at = START + 30 * SECOND
    tally = running.run(message(stuck, number=1), message(fine, number=2))
    assert (tally.failed_messages, tally.succeeded) == ({"message-1"}, 1)
    assert (running.stored(stuck).state, running.stored(fine).state) == (State.RUNNING, State.SUCCEEDED)
    assert running.clock.now() - running.dies_at < 3 * SECOND


def test_an_outcome_that_was_never_written_is_followed_by_an_attempt_with_a_newer_token(running):
    task = a_task()
    running.stores(task)

    def table_fails_for_long(delivery, report):
        running.tasks.unavailable[task.id] = ALWAYS
        report(delivery, Delivered())

    running.target.script[task.id].append(table_fails_for_long)
    running.dies_at = START + 30 * SECOND
    assert running.run(message(task)).failed_messages == {"message-1"}
    running.tasks.unavailable.clear()
    running.clock.move(LEASE + 3 * SECOND)
    assert running.run(message(task, receives=2)).succeeded == 1
    assert [delivery.token for _, delivery in running.target.started] == [1, 2]


def test_an_outcome_that_is_refused_keeps_its_message_and_no_other(running):
    odd, fine = a_task(1), a_task(2)
    running.stores(odd, fine)

    def too_odd_to_store(delivery, report):
        running.tasks.refused.add(odd.id)
        report(delivery, Delivered())

    running.target.script[odd.id].append(too_odd_to_store)
    tally = running.run(message(odd, number=1), message(fine, number=2))
    assert (tally.failed_messages, tally.succeeded) == ({"message-1"}, 1)


def test_an_outcome_whose_answer_was_lost_is_written_once(running):
    task = a_task()
    running.stores(task)

    def answer_gets_lost(delivery, report):
        running.tasks.unanswered[task.id] = 1
        report(delivery, BROKEN)

    running.target.script[task.id].append(answer_gets_lost)
    tally = running.run(message(task))
    assert (tally.retried, tally.fenced_off, tally.failed_messages) == (1, 0, set())
    assert running.stored(task).version == 3
    assert [via for via, _, _ in running.sent] == [Via.RETRY]


def test_the_outcome_of_a_worker_that_lost_its_lease_is_refused(running):
    task = a_task()
    running.stores(task)

    def somebody_else_is_faster(delivery, report):
        running.clock.move(LEASE)
        running.run(message(task, receives=2), holder="worker-2")
        report(delivery, GONE)

    running.target.script[task.id].append(somebody_else_is_faster)
    tally = running.run(message(task))
    done = running.stored(task)
    assert (tally.fenced_off, tally.dead, tally.failed_messages) == (1, 0, set())
    assert (done.state, done.token, done.holder) == (State.SUCCEEDED, 2, "worker-2")
    assert running.letters == []


def test_the_call_of_a_worker_who_is_fenced_off_may_be_the_only_one_left(running):
    """Another takes the task over from the same message, notes that it is dead, and dies before it sends the letter;
    then the first one's message is deleted, which was that one's as well."""
    task = replace(a_task(), retry=replace(STEADY, max_attempts=1))
    running.stores(task)

    def somebody_else_notes_a_death_and_dies(delivery, report):
        running.clock.move(LEASE)
        running.run(message(task, receives=2), holder="worker-2")
        running.dead_letters.take()
        report(delivery, Delivered())

    running.target.script[task.id].append(somebody_else_notes_a_death_and_dies)
    tally = running.run(message(task))
    assert (tally.fenced_off, running.stored(task).state, running.letters) == (1, State.DEAD, [])
    (packet,) = running.queue.packets
    assert 0 * SECOND <= running.clock.now() + LEASE - packet.not_before <= SECOND
    running.run(running.arrival())
    assert running.letters == [Due.of(running.stored(task))]


def test_the_outcome_of_a_worker_whose_lease_is_over_counts_while_nobody_else_has_begun(running):
    task = a_task()
    running.stores(task)

    def slow(delivery, report):
        running.clock.move(10 * MINUTE)
        report(delivery, Delivered())

    running.target.script[task.id].append(slow)
    tally = running.run(message(task))
    assert (tally.succeeded, tally.fenced_off) == (1, 0)


@pytest.mark.parametrize("attempts", [1, STEADY.max_attempts])
def test_a_lease_that_was_made_longer_meanwhile_is_respected(running, attempts):
    task = replace(claimed(a_task()), attempts=attempts)
    running.stores(task)
    running.clock.sleep_until(task.lease_until)
    longer = task.lease_until + LEASE
    running.tasks.before["commit"].append(lambda: running.tasks.extend([task], longer))
    tally = running.run(message(task, receives=2))
    assert (started(running), tally.deferred, tally.dead) == ([], 1, 0)
    assert running.stored(task) == replace(task, lease_until=longer)
    assert [packet.not_before for packet in running.queue.packets] == [longer]


def test_a_retry_is_not_lost_when_its_message_was_deferred_by_somebody_else_meanwhile(running):
    """The message came back while its worker was still at it, was sent on for the end of the lease and deleted; then
    the worker commits a retry and cannot send it. What was sent on is the only call left."""
    task = a_task()
    running.stores(task)

    def seen_by_another(delivery, report):
        running.run(message(task, receives=2), holder="worker-2")
        running.queue.refuses = 1
        report(delivery, BROKEN)

    running.target.script[task.id].append(seen_by_another)
    running.run(message(task))
    assert running.stored(task).state is State.RETRYING
    running.run(running.arrival())
    while running.queue.sent:
        running.run(running.arrival())
    assert running.stored(task).state is State.SUCCEEDED


def test_a_long_delivery_keeps_its_lease_and_its_message(running):
    task = a_task()
    running.stores(task)

    def takes_long(delivery, report):
        running.clock.move(LEASE / 2)
        running.on_extend.append(lambda: report(delivery, Delivered()))

    running.target.script[task.id].append(takes_long)
    tally = running.run(message(task))
    assert running.tasks.leases_given == [START + LEASE / 2 + LEASE]
    assert running.extended == [(["message-1"], LEASE + 3 * SECOND)] * 2
    assert (tally.succeeded, tally.fenced_off) == (1, 0)


def test_a_lease_is_not_renewed_before_half_of_it_is_over(running):
    task = a_task()
    running.stores(task)

    def nearly_half(delivery, report):
        running.clock.move(LEASE / 2 - SECOND)
        report(delivery, Delivered())

    running.target.script[task.id].append(nearly_half)
    running.run(message(task))
    assert running.tasks.leases_given == []


def test_a_lease_that_cannot_be_renewed_ends_no_delivery(running):
    task = a_task()
    running.stores(task)

    def takes_long(delivery, report):
        running.clock.move(LEASE / 2)
        running.on_extend.append(lambda: report(delivery, Delivered()))
        running.tasks.unavailable[task.id] = 1

    running.target.script[task.id].append(takes_long)
    assert running.run(message(task)).succeeded == 1


def test_a_retry_that_could_not_be_sent_is_sent_by_the_message_that_comes_back(running):
    task = a_task()
    running.stores(task)
    running.target.script[task.id].append(BROKEN)
    running.queue.refuses = 1
    tally = running.run(message(task))
    retrying = running.stored(task)
    assert (tally.failed_messages, retrying.state) == ({"message-1"}, State.RETRYING)

    tally = running.run(message(task, receives=2))
    assert (tally.failed_messages, len(running.target.started)) == (set(), 1)
    assert running.sent == [(Via.SWEEP, Due.of(retrying), 9 * SECOND)]
    running.run(running.arrival())
    assert running.stored(task).state is State.SUCCEEDED


def test_a_dead_letter_that_could_not_be_sent_is_sent_by_the_message_that_comes_back(running):
    task = a_task()
    running.stores(task)
    running.target.script[task.id].append(GONE)
    running.dead_letters.refuses = 1
    assert running.run(message(task)).failed_messages == {"message-1"}
    assert running.letters == []
    assert running.run(message(task, receives=2)).failed_messages == set()
    assert running.letters == [Due.of(running.stored(task))]
    assert len(running.target.started) == 1


def test_a_dead_letter_is_not_sent_again_by_a_mere_duplicate(running):
    dead = in_state(State.DEAD)
    running.stores(dead)
    running.run(message(a_task(), number=1))
    assert running.letters == []


def test_only_the_messages_whose_calls_could_not_be_sent_on_come_back(running):
    broken, gone, fine = (a_task(number) for number in (1, 2, 3))
    running.stores(broken, gone, fine)
    running.target.script[broken.id].append(BROKEN)
    running.target.script[gone.id].append(GONE)
    running.queue.refuses = ALWAYS
    tally = running.run(*(message(task, number=number) for number, task in enumerate((broken, gone, fine))))
    assert tally.failed_messages == {"message-0"}
    assert running.letters == [Due.of(running.stored(gone))]


def test_a_deferred_call_that_could_not_be_sent_on_comes_back_as_its_own_message(running):
    far = a_task(due_at=START + MINUTE)
    running.stores(far)
    running.queue.refuses = 1
    assert running.run(message(far)).failed_messages == {"message-1"}


def test_payloads_in_rows_of_their_own_are_delivered(running):
    task = a_task(payload=Payload(key="k"))
    running.payloads.put("k", '{"large":1}', keep_until=START)
    running.stores(task)
    running.run(message(task))
    assert [delivery.payload for _, delivery in running.target.started] == [b'{"large":1}']


def test_a_payload_that_is_gone_is_a_failed_attempt_of_its_task_and_no_other(running):
    lost, fine = a_task(1, payload=Payload(key="gone")), a_task(2)
    running.stores(lost, fine)
    tally = running.run(message(lost, fine))
    assert (started(running), tally.retried, tally.succeeded) == ([fine.id], 1, 1)
    assert "payload" in running.stored(lost).error


class Unreadable:
    """Payloads and tenants that cannot be read now, and how often they were asked for."""

    asked = 0

    def get(self, id):
        self.asked += 1
        raise Unavailable

    def get_many(self, ids):
        self.asked += 1
        raise Unavailable


def test_payloads_that_cannot_be_read_keep_back_the_runs_that_need_them_and_no_other(running):
    lost, fine = a_task(1, payload=Payload(key="k")), a_task(2)
    running.stores(lost, fine)
    running.payloads = Unreadable()
    tally = running.run(message(lost, fine))
    assert (started(running), tally.postponed, tally.succeeded) == ([fine.id], 1, 1)


@pytest.mark.parametrize("unreadable", ["tenants", "payloads"])
def test_a_delivery_whose_parts_cannot_be_read_uses_up_no_attempt(running, unreadable):
    task = a_task(payload=Payload(key="k"))
    running.stores(task)
    running.payloads.put("k", "{}", keep_until=START + MINUTE)
    kept = getattr(running, unreadable)
    setattr(running, unreadable, Unreadable())
    tally = running.run(message(task))
    assert (started(running), tally.postponed, tally.failed_messages) == ([], 1, set())
    setattr(running, unreadable, kept)
    running.run(running.arrival())
    assert (running.stored(task).state, running.stored(task).attempts) == (State.SUCCEEDED, 1)


def test_a_table_that_does_not_answer_is_asked_once_a_batch(running):
    """A table that answers late would hold up every task of the batch in turn."""
    tasks = [
        a_task(number, due_at=START + number * SECOND / 2, payload=Payload(key="k")) for number in range(4)
    ]
    running.stores(*tasks)
    running.tenants, running.payloads = Unreadable(), Unreadable()
    assert running.run(message(*tasks)).postponed == 4
    assert (running.tenants.asked, running.payloads.asked) == (1, 1)


def test_the_tenants_of_a_batch_are_read_in_one_request(running):
    tasks = [a_task(number, tenant=f"tenant-{number}") for number in range(10)]
    running.stores(*tasks)
    read, asked = running.tenants.get_many, []
    running.tenants.get_many = lambda ids: (asked.append(sorted(ids)), read(ids))[1]
    assert running.run(*(message(task) for task in tasks)).succeeded == 10
    assert asked == [sorted(task.tenant for task in tasks)]


def test_a_tenant_that_only_newer_code_reads_keeps_back_its_own_tasks_alone(running):
    tasks = [a_task(number, tenant=f"tenant-{number}") for number in range(10)]
    running.stores(*tasks)
    read = running.tenants.get_many

    def get_many(ids):
        if "tenant-3" in set(ids):
            raise OfNewerCode
        return read(ids)

    running.tenants.get_many = get_many
    tally = running.run(*(message(task) for task in tasks))
    assert (tally.succeeded, tally.postponed, tally.failed_messages) == (9, 1, set())


def test_a_delivery_carries_what_its_tenant_may_call_and_signs_with(running):
    lists = frozenset({("sqs", "https://sqs.example/q"), ("webhook", "w"), ("eventbridge", "b")})
    secrets = ("whsec_new", "whsec_old")
    running.tenants.put(Tenant(id="demo", destinations=lists, signing_secrets=secrets))
    task = a_task()
    running.stores(task)
    running.run(message(task))
    ((_, delivery),) = running.target.started
    assert (delivery.allowed, delivery.signing_secrets) == (frozenset({"w"}), secrets)


def test_targets_are_asked_for_before_the_instant(running):
    """The first of its kind makes a client, and its task is not to wait for that."""
    asked = []

    class Asked(dict):
        def get(self, name):
            asked.append((name, running.clock.now()))

    task = a_task(due_at=START + SECOND)
    running.stores(task)
    runner = running.runner(message(task))
    runner._sender._targets = Asked(webhook=running.target)
    runner.run([message(task)])
    assert asked[0] == ("webhook", START)
    assert started(running) == [task.id]


@pytest.mark.parametrize(("seconds_left", "timeout"), [(900.0, 30), (12.5, 12.5), (-3.0, 1.0)])
def test_no_delivery_may_outlive_its_worker(running, seconds_left, timeout):
    task = a_task()
    running.stores(task)
    running.dies_at = START + seconds_left * SECOND
    running.run(message(task))
    assert [delivery.timeout_seconds for _, delivery in running.target.started] == [timeout]
