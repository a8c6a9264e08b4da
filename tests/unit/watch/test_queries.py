"""The saved queries over lines that the functions' own code writes, and the evaluator that answers them."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from functions.api.caller import Caller
from functions.api.payments import change, registered
from functions.api.tasks.one_time import registered as tasks_registered
from functions.run_tasks import circuits
from functions.run_tasks.tally import TaskTally as Ran
from functions.settle import handler as settle
from functions.settle.tally import PaymentTally as Settled
from functions.sweep import handler as sweep
from infra.environments import PROD
from infra.watch.insights import answered
from infra.watch.queries import QUERIES
from postdate.domain.breaker import Breaker
from postdate.domain.money import cancel
from postdate.domain.settlement import fail
from postdate.domain.settlement import settle as settled
from postdate.domain.task import State
from postdate.runtime import metric
from postdate.runtime.observability import emit, logger, metrics, note
from tests.unit.doubles import START, a_payment, a_task, in_state

TEXTS: Final = {query.name: query.text for query in QUERIES}
CALLER: Final = Caller(tenant="demo", key_id="k", scopes=frozenset())
Lines = list[str]


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Lines]:
    """Lines in the form in which they reach the log group."""
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    seen: Lines = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(logger.registered_formatter.format(record))

    ear = Ear()
    logger.addHandler(ear)
    metrics.clear_metrics()
    yield seen
    metrics.clear_metrics()
    logger.removeHandler(ear)


def written(capsys: pytest.CaptureFixture[str]) -> Lines:
    """The line of metrics of what was emitted."""
    capsys.readouterr()
    metrics.flush_metrics()
    return capsys.readouterr().out.splitlines()


def rows(name: str, lines: Lines, **words: str) -> list[dict[str, Any]]:
    text = TEXTS[name]
    for word, value in words.items():
        assert word in text
        text = text.replace(word, value)
    return answered(text, lines)


def test_a_payment_is_followed_from_its_request_to_its_end(lines):
    payment, other = a_payment(1), a_payment(2)
    logger.append_keys(request_id="request-1")
    registered.note([payment])
    logger.remove_keys(["request_id"])
    registered.note([other])
    settle._tell(Settled(settled=1, ended=[(settled(payment, now=START).after, 5.0)]), [])
    (scheduled,) = rows("one_request", lines, REQUEST_ID="request-1")
    found = rows("one_item", lines, ITEM_ID=scheduled["payment_id"])
    assert [row["action"] for row in found] == ["payment_scheduled", "payment_executed"]


def test_a_task_is_followed_from_its_request_to_its_end(lines):
    task, failing = a_task(1), in_state(State.RETRYING, a_task(2))
    tasks_registered.note([task, failing])
    Ran(done=[task.id], failures=[failing]).tell()
    assert [row["action"] for row in rows("one_item", lines, ITEM_ID=task.id)] == [
        "tasks_scheduled",
        "tasks_executed",
    ]
    assert [row["action"] for row in rows("one_item", lines, ITEM_ID=failing.id)] == [
        "tasks_scheduled",
        "retry",
    ]


def test_failed_payments_are_counted_by_reason(lines):
    failed = [
        fail(a_payment(number), now=START, code="insufficient_funds", why="too little money").after
        for number in (1, 2)
    ]
    settle._tell(Settled(failures=failed), [])
    (row,) = rows("failed_payments", lines)
    assert (row["payments"], row["reason"]) == (2, failed[0].history[-1].why)


def test_late_payments_are_listed_the_latest_first(lines):
    ended = [
        (settled(a_payment(number), now=START + timedelta(hours=1)).after, late)
        for number, late in ((1, 900.0), (2, 1500.0), (3, 3000.0))
    ]
    settle._tell(Settled(settled=3, ended=ended), [])
    assert [row["latency_ms"] for row in rows("late_payments", lines)] == [3000.0, 1500.0]


def test_failed_attempts_are_counted_by_reason_and_class(lines, capsys):
    tasks = [in_state(State.RETRYING, a_task(number)) for number in (1, 2)]
    tally = Ran(packets=1, failures=tasks)
    tally.failure_classes |= {"server_error": 2, "untried": 3}
    tally.tell()
    (row,) = rows("failed_attempts", lines)
    assert (row["attempts"], row["action"]) == (2, "retry")
    (classes,) = rows("failure_classes", written(capsys))
    assert (classes["error"], classes["throttled"], classes["untried"]) == (2, 0, 3)


def test_destinations_that_are_down_are_named_with_their_tenant(lines):
    circuits._log_change(("acme", "webhook h"), Breaker(), replace(Breaker(), opened=1, open_until=START))
    (row,) = rows("destinations_down", lines)
    assert (row["tenant"], row["destination"], row["opened"]) == ("acme", "webhook h", 1)


def test_overdue_items_are_named(lines):
    sweep._tell_overdue(["task_1"])
    (row,) = rows("overdue_items", lines)
    assert row["count"] == 1
    (error,) = rows("errors", lines)
    assert (error["action"], error["errors"]) == ("overdue", 1)


def test_parked_payments_are_listed(lines):
    payment = replace(a_payment(), lease_until=None)
    settle._tell(Settled(failures=[payment]), [])
    (row,) = rows("parked_payments", lines)
    assert (row["action"], row["payment"]) == ("parked", payment.id)


def test_requests_are_counted_by_tenant_and_by_status(lines, capsys):
    told: Lines = []
    for tenant, status in (("acme", 200), ("acme", 503), ("umbrella", 200)):
        emit(metric.REQUESTS)
        for name, value in (("tenant", tenant), ("key_id", "k"), ("method", "GET"), ("path", "/p")):
            note(name, value)
        note("status", status)
        told += written(capsys)
    assert [(row["tenant"], row["requests"]) for row in rows("requests_by_tenant", told)] == [
        ("acme", 2),
        ("umbrella", 1),
    ]
    (failed,) = rows("failed_requests", told)
    assert (failed["status"], failed["path"], failed["requests"]) == (503, "/p", 1)


def test_payers_are_counted_once_a_day(lines):
    registered.note([replace(a_payment(number), amount=10) for number in (1, 2, 3)])
    (row,) = rows("active_payers", lines)
    assert (row["payers"], row["money"]) == (1, 30)


def test_cancelled_payments_and_delays_are_summed(lines, capsys):
    emit(metric.REQUESTS)
    registered.note([a_payment(1), a_payment(2)])
    payment = a_payment(1)
    change._tell(payment, cancel(payment, now=START).after, CALLER)
    told = written(capsys)
    (row,) = rows("cancelled_and_rescheduled", told)
    assert (row["payments"], row["payments_cancelled"], row["payments_rescheduled"]) == (2, 1, 0)
    (delays,) = rows("delays", told)
    assert sum(delays[name] for name in metric.DELAYS) == 2


def test_outcomes_of_an_experiment_are_summed_by_arm(capsys):
    tally = Ran(packets=1)
    tally.arms["a", metric.RETRIED] = 3
    tally.arms["b", metric.RECOVERED] = 2
    tally.tell()
    (row,) = rows("arms_of_retries", written(capsys))
    assert (row["a_retried"], row["b_recovered"], row["b_dead"]) == (3, 2, 0)


def test_openings_of_dependencies_are_summed(capsys):
    emit(metric.REQUESTS)
    for _ in range(2):
        emit(metric.DEPENDENCIES_OPENED)
    (row,) = rows("dependencies_failing", written(capsys))
    assert row["opened"] == 2


def test_waits_are_summed_by_their_flag(capsys):
    emit(metric.REQUESTS)
    emit(metric.LONG_WAITS[True, False])
    (row,) = rows("arms_of_long_waits", written(capsys))
    assert (row["on_empty"], row["off_told"]) == (1, 0)


def test_every_query_reads_logs_that_exist() -> None:
    assert {name for query in QUERIES for name in query.functions} <= PROD.functions.keys()
    assert len({query.name for query in QUERIES}) == len(QUERIES)


def test_every_query_is_tried_here() -> None:
    tried = Path(__file__).read_text(encoding="utf-8")
    assert [query.name for query in QUERIES if f'rows("{query.name}"' not in tried] == []


@pytest.mark.parametrize("text", ["parse @message", "filter a ~ 1", "stats median(a) by b"])
def test_a_command_that_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="known"):
        answered(text, [json.dumps({"a": 1})])


def test_a_bin_begins_at_its_width() -> None:
    told = [json.dumps({"timestamp": f"2026-11-19T12:0{minute}:30+00:00", "n": 1}) for minute in (0, 4, 5)]
    found = answered("stats sum(n) as n by bin(5m)", told)
    assert [row["n"] for row in found] == [2, 1]
