"""Counts of a batch: attempts by failure class, leases that expired, tiers of tenants, times of attempts."""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.run_tasks.delivering import class_of
from postdate.domain.due import Via
from postdate.domain.task import RECEIVER, State
from postdate.runtime.metric import ATTEMPTS_FAILED
from postdate.runtime.observability import logger
from postdate.stores.tenants import Tenant
from postdate.targets.base import Failed, Untried
from tests.unit.doubles import LEASE, SECOND, START, a_task, in_state, message

BROKEN = Failed(reason="http 500", http_status=500)
GONE = Failed(reason="http 410", retry=False, http_status=410)


@pytest.mark.parametrize(
    ("receipt", "name"),
    [
        (BROKEN, "server_error"),
        (Failed(reason="http 429", http_status=429), "throttled"),
        (Failed(reason="http 404", http_status=404), "refused"),
        (Failed(reason="redirect refused", http_status=302), "refused"),
        (Failed(reason="connection refused", down=True), "unreachable"),
        (Failed(reason="header not allowed", retry=False), "not_allowed"),
        (Failed(reason="internal error"), "no_answer"),
        (Untried(reason="its payload could not be read"), "untried"),
        (Untried(reason="its name was not looked up in time", is_queued=True), "queued"),
    ],
)
def test_a_failed_attempt_has_one_class(receipt, name):
    assert class_of(receipt) == name
    assert name in ATTEMPTS_FAILED


def test_failed_attempts_are_counted_by_class_and_successes_are_not(running):
    task, other = a_task(1), a_task(2)
    running.stores(task, other)
    running.target.script[task.id].append(BROKEN)
    tally = running.run(message(task, other))
    assert tally.failure_classes == {"server_error": 1}
    assert len(tally.execution_ms) == 2


def test_the_time_of_an_attempt_is_counted_without_its_wait(running):
    task = a_task(due_at=START - 5 * SECOND)
    running.stores(task)
    tally = running.run(message(task))
    assert tally.lateness_ms == [5000]
    assert tally.execution_ms == [0]


def test_a_worker_that_died_is_counted_by_the_next_one(running):
    task = replace(in_state(State.RUNNING), holder="worker-1")
    running.stores(task)
    running.clock.move(2 * LEASE)
    tally = running.run(message(task, receives=2))
    assert (tally.claimed, tally.leases_expired) == (1, 1)


def test_a_receiver_that_stays_silent_is_no_worker_that_died(running):
    task = replace(in_state(State.RUNNING), holder=RECEIVER)
    running.stores(task)
    running.clock.move(2 * LEASE)
    tally = running.run(message(task, receives=2))
    assert (tally.claimed, tally.leases_expired) == (1, 0)


def test_a_task_is_counted_for_the_tier_of_its_tenant(running):
    running.tenants.put(Tenant(id="demo", tier="gold"))
    task = a_task(due_at=START - SECOND)
    running.stores(task)
    tally = running.run(message(task))
    assert tally.tier_ended == {"gold": 1}
    assert tally.tier_lateness_ms == {"gold": [1000]}
    assert tally.done == [task.id]


@pytest.fixture
def told() -> Iterator[list[logging.LogRecord]]:
    seen: list[logging.LogRecord] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    ear = Ear()
    logger.addHandler(ear)
    yield seen
    logger.removeHandler(ear)


def decisions(told, task):
    return [(record.action, record.reason) for record in told if getattr(record, "task", "") == task.id]


def test_each_decision_about_a_traced_task_is_logged_with_its_reason(running, told):
    running.tenants.put(Tenant(id="demo", log_share=1))
    task, ended = a_task(1), in_state(State.SUCCEEDED, a_task(2))
    running.stores(task, ended)
    running.run(message(task, ended))
    assert decisions(told, task) == [("claimed", "sweep"), ("became_succeeded", "http 200")]
    assert decisions(told, ended) == [("dropped", "is SUCCEEDED")]


def test_a_tenant_without_a_share_has_no_task_traced(running, told):
    task = a_task()
    running.stores(task)
    running.run(message(task))
    assert decisions(told, task) == []


def test_the_share_of_traced_tasks_is_that_of_the_tenant(running, told):
    running.tenants.put(Tenant(id="demo", log_share=0.25))
    tasks = [a_task(number) for number in range(200)]
    running.stores(*tasks)
    for number in range(0, 200, 25):
        running.run(message(*tasks[number : number + 25], number=number))
    traced = sum(bool(decisions(told, task)) for task in tasks)
    assert 25 < traced < 75


def test_a_tenant_that_cannot_be_read_counts_as_standard(running):
    task = a_task()
    running.stores(task)
    assert running.run(message(task)).tier_ended == {"standard": 1}


def test_a_redriven_task_is_late_once(running):
    """A redrive begins with the first attempt again."""
    task = a_task(due_at=START - SECOND)
    running.stores(task)
    running.target.script[task.id].extend([GONE])
    assert running.run(message(task)).lateness_ms == [1000]
    running.clock.move(SECOND)
    tally = running.run(message(*running.letters, via=Via.DEAD))
    assert (running.stored(task).state, tally.claimed, tally.lateness_ms) == (State.SUCCEEDED, 1, [])
