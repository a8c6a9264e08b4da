from collections import deque
from typing import Any

import pytest

from chaos.asking import Asked, ask
from chaos.load import changed, promised
from chaos.notes import Notes, together
from cli.client import Answer
from tests.unit.chaos.sound import TASK
from tests.unit.chaos.sound import promised as promise_of


def an_answer(status: int, /, **body: Any) -> Answer:
    return Answer(status=status, headers={}, body=body)


class Asking:
    """Answers by turns, on a clock that moves while somebody waits."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self._answers = deque(answers)
        self._now = 0.0
        self.notes = Notes()

    def __call__(self, patience_seconds: float = 10) -> Asked:
        return ask(
            "a task",
            self._send,
            self.notes,
            patience_seconds=patience_seconds,
            sleep=self._sleep,
            now=lambda: self._now,
        )

    def _send(self) -> Answer:
        answer = self._answers[0] if len(self._answers) == 1 else self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _sleep(self, seconds: float) -> None:
        self._now += seconds


@pytest.mark.parametrize("lost", [an_answer(502), an_answer(503), ConnectionResetError(), ValueError()])
def test_a_request_with_an_unknown_outcome_is_repeated_and_counted(lost: Answer | Exception) -> None:
    asking = Asking(lost, lost, an_answer(201))
    asked = asking()
    assert (asked.status, asked.unknown) == (201, 2)
    assert asking.notes.unknown["a task"] == 2
    assert asking.notes.granted["a task"] == 1


@pytest.mark.parametrize("later", [an_answer(409, code="idempotency_in_progress"), an_answer(429)])
def test_a_request_that_is_told_to_wait_is_repeated_and_leaves_nothing_unknown(later: Answer) -> None:
    asking = Asking(later, an_answer(201))
    asked = asking()
    assert (asked.status, asked.unknown, asking.notes.unknown.total()) == (201, 0, 0)


def test_a_refusal_is_an_answer_and_is_counted_by_its_code() -> None:
    asking = Asking(an_answer(409, code="invalid_state"))
    assert asking().status == 409
    assert asking.notes.refused == {"a task invalid_state": 1}
    assert not asking.notes.granted


def test_patience_ends_and_then_there_is_no_answer() -> None:
    asked = Asking(an_answer(500))(patience_seconds=1)
    assert asked.answer is None
    assert asked.unknown > 1


def test_a_worker_that_is_told_to_stop_does_not_go_on_asking() -> None:
    sent: list[int] = []

    def send() -> Answer:
        sent.append(1)
        return an_answer(500)

    assert ask("a task", send, Notes(), sleep=lambda seconds: True).answer is None
    assert len(sent) == 1


def test_an_accepted_task_is_promised_for_the_instant_that_was_answered() -> None:
    body = {"task_id": "task_1", "run_at": "1970-01-01T00:00:02.500Z", "version": 1, "status": "PENDING"}
    assert promised("k", "/api/v1/tasks", {}, body).earliest_ms == 2500


@pytest.mark.parametrize(
    ("asked", "earliest_ms"),
    [
        (Asked(answer=an_answer(200, version=2, status="PENDING"), unknown=0), 50),
        (Asked(answer=an_answer(409), unknown=0), 100),
        (Asked(answer=an_answer(409), unknown=1), 50),
        (Asked(answer=None, unknown=3), 50),
    ],
)
def test_a_change_that_may_have_been_made_allows_the_earlier_instant(asked: Asked, earliest_ms: int) -> None:
    task = promise_of(TASK)
    task.earliest_ms = 100
    changed(task, asked, 50)
    assert task.earliest_ms == earliest_ms


def test_a_change_that_may_have_been_made_to_a_later_instant_allows_the_one_before() -> None:
    task = promise_of(TASK)
    task.earliest_ms = 100
    changed(task, Asked(answer=None, unknown=1), 200)
    assert task.earliest_ms == 100


def test_the_notes_of_all_clients_come_together() -> None:
    first, second = Notes(deposited=1), Notes(deposited=2, promised=[promise_of(TASK)])
    for notes in (first, second):
        notes.unknown["a task"] += 1
    whole = together([first, second])
    assert (whole.deposited, len(whole.promised), whole.unknown["a task"]) == (3, 1, 2)
