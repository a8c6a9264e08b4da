"""A worker during long deliveries: it takes further messages, and no tenant uses up its capacity."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.run_tasks.in_flight import IN_FLIGHT_MAX, PATIENCE, InFlight
from functions.run_tasks.intake import HELD_AFTER
from postdate.domain.due import WAIT_MAX, Via
from postdate.domain.limits import IN_FLIGHT_A_WORKER, share_of_worker
from postdate.domain.task import State
from postdate.domain.tenancy import Tenancy
from postdate.stores.tenants import Tenant
from postdate.targets.base import Delivered
from tests.unit.doubles import LEASE, MINUTE, SECOND, START, a_task, message
from tests.unit.run_tasks.conftest import WORKERS

TAKEN = Delivered(http_status=200)


WAY = ("demo", "webhook:hooks.example.com")


@pytest.fixture
def running(running):
    """Without a lane for slow destinations: all calls stay where they are."""
    running.moves_slow = False
    return running


def hangs(running, *tasks, moves=2 * SECOND):
    """Deliveries that nobody answers until `end` is called; the clock moves when the last of them has begun."""
    held = []

    def hang(delivery, report):
        held.append((delivery, report))
        if len(held) == len(tasks):
            running.clock.move(moves)

    for task in tasks:
        running.target.script[task.id].append(hang)

    def end():
        while held:
            delivery, report = held.pop(0)
            report(delivery, TAKEN)

    return end


def ends(running, task, end):
    """Answers the deliveries that hang when this task is delivered."""

    def answer(delivery, report):
        report(delivery, TAKEN)
        end()

    running.target.script[task.id].append(answer)


def states(running, tasks):
    return {running.stored(task).state for task in tasks}


def test_a_worker_that_a_delivery_keeps_goes_on_with_other_messages(running):
    hanging, other = a_task(1), a_task(2, tenant="acme")
    running.stores(hanging, other)
    ends(running, other, hangs(running, hanging))
    running.further.lies.append([message(other, number=2, tenant="acme")])
    tally = running.run(message(hanging))
    assert states(running, [hanging, other]) == {State.SUCCEEDED}
    assert running.further.asked[0] == LEASE + WAIT_MAX
    assert running.further.deleted == ["message-2"], "the event's own is for Lambda to delete"
    assert (tally.packets, tally.succeeded, tally.failed_messages) == (2, 2, set())


def test_a_worker_that_nothing_keeps_takes_nothing(running):
    tasks = [a_task(number, due_at=a_task().due_at + number * SECOND / 4) for number in range(10)]
    running.stores(*tasks)
    running.run(message(*tasks))
    assert running.further.asked == []


def test_a_delivery_that_is_answered_within_a_second_keeps_nobody(running):
    task = a_task()
    running.stores(task)

    def slow(delivery, report):
        running.clock.move(HELD_AFTER / 2)
        report(delivery, TAKEN)

    running.target.script[task.id].append(slow)
    running.run(message(task))
    assert running.further.asked == []


def test_each_call_that_it_takes_begins_at_its_instant(running):
    hanging = a_task(1)
    later = [a_task(number, due_at=a_task().due_at + number * SECOND) for number in (4, 3)]
    running.stores(hanging, *later)
    ends(running, later[0], hangs(running, hanging))
    running.further.lies.append([message(*later, number=2)])
    running.run(message(hanging))
    began = {delivery.run_id: at for at, delivery in running.target.started}
    assert all(task.due_at <= began[task.id] <= task.due_at + SECOND for task in later)


def test_messages_that_a_worker_took_and_could_not_finish_come_back_later(running):
    hanging, failing, unreadable = a_task(1), a_task(2), a_task(3)
    running.stores(hanging, failing)
    end = hangs(running, hanging)
    running.tasks.refused.add(failing.id)
    running.further.lies.extend([[message(failing, number=2)], [message(unreadable, number=3)]])
    last = a_task(4)
    running.stores(last)
    ends(running, last, end)
    running.further.lies.append([message(last, number=4)])
    running.run(message(hanging))
    assert sorted(running.backed_off) == ["message-2", "message-3"]
    assert running.further.deleted == ["message-4"]


def test_the_calls_that_follow_from_a_message_are_sent_before_it_is_deleted(running):
    hanging, far = a_task(1), a_task(2, due_at=a_task().due_at + MINUTE)
    last = a_task(3)
    running.stores(hanging, far, last)
    ends(running, last, hangs(running, hanging))
    running.further.lies.extend([[message(far, number=2)], [message(last, number=3)]])
    running.queue.refuses = 1
    running.run(message(hanging))
    assert running.queue.sent == []
    assert running.backed_off == ["message-2"]
    assert running.further.deleted == ["message-3"]


def test_it_keeps_what_it_took_for_as_long_as_its_own(running):
    first, second, last = a_task(1), a_task(2), a_task(3)
    running.stores(first, second, last)
    end = hangs(running, first, second, moves=LEASE)
    running.further.lies.append([message(last, number=3)])

    def hang(delivery, report):
        running.target.script[second.id][0](delivery, report)

    ends(running, last, end)
    running.run(message(first), message(second, number=2))
    assert running.further.deleted == ["message-3"]
    assert all(ids[:2] == ["message-1", "message-2"] for ids, _ in running.extended)


def test_shortly_before_its_time_is_over_it_takes_nothing_more(running):
    task = a_task()
    running.stores(task)
    running.dies_at = running.clock.now() + 100 * SECOND
    end = hangs(running, task)
    running.on_extend = [lambda: None, end]
    running.target.script[task.id][0] = _after(running, 30 * SECOND, running.target.script[task.id][0])
    running.run(message(task))
    assert running.further.asked == []


def _after(running, wait, hang):
    def begin(delivery, report):
        hang(delivery, report)
        running.clock.move(wait)

    return begin


def test_a_call_that_may_take_longer_than_the_worker_has_is_sent_on_as_it_came(running):
    hanging, last = a_task(1), a_task(3)
    long = replace(a_task(2), timeout_seconds=900)
    running.stores(hanging, long, last)
    ends(running, last, hangs(running, hanging))
    running.further.lies.extend([[message(long, number=2)], [message(last, number=3)]])
    running.run(message(hanging))
    ((packet, _),) = running.queue.sent
    assert ([due.id for due in packet.dues], packet.via, packet.seen) == ([long.id], Via.SWEEP, False)
    assert running.stored(long).version == 1


class TestShares:
    def many(self, running, count, *, first=1, tenant="demo"):
        tasks = [a_task(number, tenant=tenant) for number in range(first, first + count)]
        running.stores(*tasks)
        return tasks

    def packets(self, tasks, tenant="demo"):
        return [
            message(*tasks[start : start + 25], number=10 * int(tasks[0].token == 0) + start, tenant=tenant)
            for start in range(0, len(tasks), 25)
        ]

    def test_no_tenant_has_more_in_flight_than_its_share_and_the_rest_is_sent_on_as_it_came(self, running):
        hanging = self.many(running, 150)
        other = self.many(running, 40, first=1001, tenant="acme")
        end = hangs(running, *hanging[:IN_FLIGHT_A_WORKER])
        on_their_way = []

        def look():
            on_their_way.append(sum(running.stored(task).state is State.RUNNING for task in hanging))
            end()

        running.queue.before.append(look)
        running.run(
            *self.packets(hanging),
            *[replace(m, message_id=f"o{m.message_id}") for m in self.packets(other, "acme")],
        )
        assert on_their_way == [IN_FLIGHT_A_WORKER]
        assert states(running, other) == {State.SUCCEEDED}
        waiting = [task for task in hanging if running.stored(task).version == 1]
        assert sorted(running.queue.ids) == sorted(task.id for task in waiting)
        assert 0 < len(waiting) <= 50
        assert {packet.seen for packet in running.queue.packets} == {False}
        assert all(2 * SECOND <= delay <= 4 * SECOND for _, delay in running.queue.sent)

    def test_a_call_without_capacity_begins_when_a_delivery_of_its_tenant_ends(self, running):
        tasks = self.many(running, IN_FLIGHT_A_WORKER + 50)
        held = []

        def answered_later(delivery, report):
            held.append((delivery, report))
            if len(held) == IN_FLIGHT_A_WORKER:
                while held:
                    each, told = held.pop()
                    told(each, TAKEN)

        for task in tasks[:IN_FLIGHT_A_WORKER]:
            running.target.script[task.id].append(answered_later)
        running.run(*self.packets(tasks))
        assert states(running, tasks) == {State.SUCCEEDED}
        assert running.queue.sent == []

    def test_a_tenants_own_quota_is_divided_among_the_workers(self, running):
        running.tenants.put(Tenant(id="demo", tenancy=Tenancy(runs_in_flight=7 * WORKERS + 1)))
        hanging = self.many(running, 30)
        other = self.many(running, 40, first=1001, tenant="acme")
        end = hangs(running, *hanging[:7])
        on_their_way = []

        def look():
            on_their_way.append(sum(running.stored(task).state is State.RUNNING for task in hanging))
            end()

        running.queue.before.append(look)
        running.run(
            *self.packets(hanging),
            *[replace(m, message_id=f"o{m.message_id}") for m in self.packets(other, "acme")],
        )
        assert on_their_way == [7]
        assert states(running, other) == {State.SUCCEEDED}

    @given(quota=st.integers(1, 100_000), workers=st.integers(1, 1000))
    def test_the_shares_of_all_workers_are_no_more_than_the_quota_but_for_one_each(self, quota, workers):
        share = share_of_worker(quota, workers)
        assert 1 <= share <= IN_FLIGHT_A_WORKER
        assert share * workers <= max(quota, workers)
        assert share_of_worker(None, workers) == IN_FLIGHT_A_WORKER

    def test_all_tenants_together_have_no_more_in_flight_than_a_worker_can(self):
        in_flight = InFlight()
        for number in range(IN_FLIGHT_MAX - 10):
            in_flight.begin(number, (f"tenant-{number % 5}", "sqs:q"), START)
        assert (in_flight.free("another"), in_flight.free_in_all, in_flight.count) == (
            10,
            10,
            IN_FLIGHT_MAX - 10,
        )
        in_flight.end(0, START + SECOND)
        assert (in_flight.free("another"), in_flight.oldest) == (11, START)

    @pytest.mark.parametrize("seconds", [0.5, 3])
    def test_a_call_waits_as_long_as_deliveries_of_its_tenant_end(self, seconds):
        in_flight = InFlight()
        in_flight.begin("a", WAY, START)
        since = START + SECOND
        assert in_flight.patience_ends("demo", since) == since + PATIENCE
        in_flight.end("a", START + seconds * SECOND)
        assert in_flight.patience_ends("demo", since) == max(since, START + seconds * SECOND) + PATIENCE
        assert in_flight.patience_ends("acme", since) == since + PATIENCE
