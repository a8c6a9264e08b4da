import json
from dataclasses import replace

import pytest

from functions.api.forms import parsed, text_of
from functions.api.runs import listing
from functions.api.runs.answers import attempts, of
from functions.api.runs.forms import CompleteForm, FailForm, HeartbeatForm
from functions.api.runs.listing import RunQuery, belongs
from postdate.domain import transitions, verdicts
from postdate.domain.due import Due
from postdate.domain.errors import NotFound, ValidationFailed
from postdate.domain.recurs import Recurs
from postdate.domain.task import State
from postdate.domain.transitions import Failure
from tests.unit.doubles import (
    LEASE,
    MINUTE,
    SECOND,
    START,
    ManualClock,
    ScriptedTasks,
    a_task,
    claimed,
    in_state,
)


def again(task, *, now, repeated=False, version=None):
    due = replace(Due.of(task), version=version or task.version)
    verdict = verdicts.claim(task, due, now=now, lease=LEASE, holder="w", repeated=repeated, why="retry")
    return verdict.after


def test_attempts_tell_how_each_began_and_ended():
    failed = in_state(State.RETRYING)
    done = transitions.succeed(
        again(failed, now=failed.due_at), now=failed.due_at + SECOND, why="http 200"
    ).after
    first, second = attempts(done)
    assert (first["number"], first["outcome"], first["http_status"], first["error"]) == (
        1,
        "FAILED",
        500,
        "http 500",
    )
    assert (second["number"], second["outcome"], second["http_status"], second["error"]) == (
        2,
        "SUCCEEDED",
        200,
        None,
    )
    assert first["finished_at"] == "2026-11-18T10:05:10.000Z"
    assert second["started_at"] < second["finished_at"]


def test_each_attempt_tells_its_worker_and_its_lease():
    failed = in_state(State.RETRYING)
    running = again(failed, now=failed.due_at)
    extended = replace(running, lease_until=failed.due_at + MINUTE)
    first, second = attempts(extended)
    assert (first["worker_id"], second["worker_id"]) == (failed.holder, "w")
    assert first["lease_until"] == text_of(START + LEASE)
    assert second["lease_until"] == text_of(failed.due_at + MINUTE)
    done = transitions.succeed(running, now=failed.due_at + SECOND, why="http 200").after
    assert attempts(done)[1]["lease_until"] == text_of(failed.due_at + LEASE)
    accepted = transitions.accept(claimed(a_task()), now=START + SECOND).after
    (attempt,) = attempts(accepted)
    assert attempt["worker_id"] == claimed(a_task()).holder != accepted.holder
    assert attempt["lease_until"] == text_of(accepted.lease_until)


def test_attempts_of_older_code_have_no_worker():
    task = claimed(a_task())
    lines = tuple(replace(line, worker=None, lease_until=None) for line in task.history)
    (attempt,) = attempts(transitions.succeed(replace(task, history=lines), now=START + SECOND, why="").after)
    assert (attempt["worker_id"], attempt["lease_until"]) == (None, None)


def test_an_accepted_delivery_is_no_attempt_of_its_own():
    accepted = transitions.accept(claimed(a_task()), now=START + SECOND).after
    (attempt,) = attempts(accepted)
    assert (attempt["number"], attempt["outcome"], attempt["finished_at"]) == (1, "RUNNING", None)


def test_an_attempt_whose_worker_died_is_told_as_failed():
    task = claimed(a_task())
    first, second = attempts(again(task, now=task.lease_until, repeated=True))
    assert (first["outcome"], first["error"]) == ("FAILED", "its worker died")
    assert (second["number"], second["outcome"]) == (2, "RUNNING")


def test_a_claim_under_which_nothing_was_sent_is_not_told():
    released = transitions.release(
        claimed(a_task()), now=START + SECOND, until=START + 5 * SECOND, why="ours"
    ).after
    assert attempts(released) == []
    (attempt,) = attempts(again(released, now=released.due_at))
    assert (attempt["number"], attempt["outcome"], attempt["error"]) == (1, "RUNNING", None)


def test_after_a_redrive_attempts_are_counted_anew():
    dead = in_state(State.DEAD)
    assert [attempt["number"] for attempt in attempts(again(dead, now=START + MINUTE))] == [1, 1]


@pytest.mark.parametrize("state", list(State))
def test_a_run_in_every_state_is_told_as_json(state):
    told = of(in_state(state))
    assert json.loads(json.dumps(told)) == told
    assert told["status"] == state
    ended_badly = (State.DEAD, State.CANCELLED, State.EXPIRED, State.SKIPPED, State.MISSED)
    assert (told["reason"] is not None) == (state in ended_badly)
    assert (told["next_attempt_at"] is not None) == state.waits


def test_a_run_of_a_recurring_task_names_it():
    run = a_task(recurs=Recurs(definition="task_d", plan=1, at=START, number=1))
    assert (of(run)["task_id"], of(run)["run_id"]) == ("task_d", run.id)
    assert of(a_task())["task_id"] == a_task().id
    assert belongs(run, "task_d") is run
    with pytest.raises(NotFound):
        belongs(run, "task_e")


@pytest.mark.parametrize("token", [1, "1", 999_999_999])
def test_a_token_is_taken_as_number_and_as_the_text_of_the_header(token):
    assert int(parsed(CompleteForm, json.dumps({"token": token})).token) == int(token)


@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        (CompleteForm, {}),
        (CompleteForm, {"token": "x"}),
        (CompleteForm, {"token": 0}),
        (CompleteForm, {"token": True}),
        (CompleteForm, {"token": 1.5}),
        (CompleteForm, {"token": 1, "error": "e"}),
        (FailForm, {"token": 1, "error": ""}),
        (FailForm, {"token": 1, "error": "e" * 201}),
        (FailForm, {"token": 1, "final": "yes"}),
        (HeartbeatForm, {"token": 1, "extend_seconds": 0}),
        (HeartbeatForm, {"token": 1, "extend_seconds": 901}),
    ],
)
def test_a_word_that_is_not_understood_is_refused(form, wrong):
    with pytest.raises(ValidationFailed):
        parsed(form, json.dumps(wrong))


class TestLists:
    def runs(self, number):
        found = []
        for place in range(number):
            due_at = START + place * MINUTE
            recurs = Recurs(definition=DEFINITION, plan=1, at=due_at, number=place + 1)
            found.append(a_task(place, due_at=due_at, recurs=recurs))
        return found

    @pytest.mark.parametrize("limit", [1, 3, 20])
    def test_the_newest_come_first_page_after_page_each_once(self, limit):
        table, runs = ScriptedTasks(), self.runs(7)
        table.add([*runs, a_task(99)])
        found, cursor = [], None
        for _ in range(20):
            asked = {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
            shown, cursor = page(RunQuery.of("demo", DEFINITION, asked), table)
            found += shown
            if cursor is None:
                break
        assert found == runs[::-1]

    def test_a_list_is_narrowed_by_status(self):
        table, runs = ScriptedTasks(), self.runs(4)
        table.add([runs[0], in_state(State.SUCCEEDED, runs[1]), runs[2], in_state(State.DEAD, runs[3])])
        found, cursor = page(RunQuery.of("demo", DEFINITION, {"status": "PENDING"}), table)
        assert ([run.id for run in found], cursor) == ([runs[2].id, runs[0].id], None)
        with pytest.raises(ValidationFailed):
            RunQuery.of("demo", DEFINITION, {"status": "ACTIVE"})

    def test_a_task_that_runs_once_is_its_own_only_run(self):
        table, task = ScriptedTasks(), a_task()
        table.add([task])
        for limit in ("1", "20"):
            found, cursor = page(RunQuery.of("demo", task.id, {"limit": limit}), table)
            if cursor is not None:
                assert page(RunQuery.of("demo", task.id, {"limit": limit, "cursor": cursor}), table) == (
                    [],
                    None,
                )
            assert found == [task]

    def test_a_cursor_belongs_to_its_task(self):
        table = ScriptedTasks()
        table.add(self.runs(3))
        _, cursor = page(RunQuery.of("demo", DEFINITION, {"limit": "1"}), table)
        with pytest.raises(ValidationFailed):
            RunQuery.of("demo", a_task().id, {"limit": "1", "cursor": cursor})


DEFINITION = "task_00000002r9bnq4svc72d7ds9"


def page(query, tasks):
    shown = listing.page(query, tasks, clock=ManualClock())
    return shown.items, shown.cursor


def test_a_failure_of_words_has_no_status():
    running = claimed(a_task())
    failure = Failure(why="the disk is full")
    failed = transitions.fail(running, now=START, failure=failure, draw=0.0).after
    assert (attempts(failed)[0]["http_status"], attempts(failed)[0]["error"]) == (None, "the disk is full")
