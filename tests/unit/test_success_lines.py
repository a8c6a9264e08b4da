"""The log line of each payment that is registered, and of each that ends."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from functions.api.payments import registered
from functions.api.tasks.one_time import registered as tasks_registered
from functions.run_tasks.tally import TaskTally as RunTally
from functions.settle import handler as settle
from functions.settle.tally import PaymentTally
from postdate.domain.settlement import settle as settled
from postdate.runtime.observability import logger
from tests.unit.doubles import START, a_payment, a_task

FIELDS = ("action", "payment_id", "from_account_id", "to_account_id", "amount", "scheduled_time")
ENDED = ("action", "payment_id", "execution_id", "status", "latency_ms")


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


def fields(record: logging.LogRecord, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in names)


def test_a_registration_names_the_payment_its_accounts_its_amount_and_its_instant(told):
    payment = replace(a_payment(), amount=300)
    registered.note([payment])
    assert [fields(record, FIELDS) for record in told] == [
        ("payment_scheduled", payment.id, payment.payer, payment.payee, 300, payment.planned_at.isoformat())
    ]


def test_an_end_names_the_payment_its_execution_its_status_and_its_latency(told):
    payment = a_payment()
    ended = settled(payment, now=START + timedelta(hours=1)).after
    settle._tell(PaymentTally(settled=1, ended=[(ended, 12.34)]), [])
    assert [fields(record, ENDED) for record in told] == [
        ("payment_executed", payment.id, ended.executions[-1].id, "COMPLETED", 12.3)
    ]


def test_the_tasks_of_a_request_are_named_in_one_line(told):
    tasks = [a_task(1), a_task(2)]
    tasks_registered.note(tasks)
    assert [fields(record, ("action", "tasks")) for record in told] == [
        ("tasks_scheduled", [task.id for task in tasks])
    ]


def test_the_tasks_of_a_batch_that_succeeded_are_named_a_hundred_in_a_line(told):
    ids = [f"task-{number}" for number in range(150)]
    RunTally(done=ids).tell()
    assert [fields(record, ("action", "tasks")) for record in told] == [
        ("tasks_executed", ids[:100]),
        ("tasks_executed", ids[100:]),
    ]
