import json

import pytest

from functions.api.tasks.recurring import answers
from postdate.domain import transitions
from postdate.domain.task import Destination
from tests.following import follow
from tests.unit.doubles import MINUTE, START, claimed

HOUR = START + 55 * MINUTE


def test_a_recurring_task_is_told_with_all_that_was_asked_for(service):
    definition = service.planned(
        "0 * * * *", "Europe/Berlin", max_runs=4, jitter_seconds=30, name="n", tags=("a",)
    )
    told = answers.of(definition, runs=(), now=START)
    assert json.loads(json.dumps(told)) == told
    assert (told["status"], told["cron"], told["timezone"]) == ("ACTIVE", "0 * * * *", "Europe/Berlin")
    assert (told["max_runs"], told["jitter_seconds"], told["name"], told["tags"]) == (4, 30, "n", ["a"])
    assert (told["overlap"], told["catch_up"], told["catch_up_window_seconds"]) == ("skip", "latest", 86_400)
    assert (told["last_run"], told["version"]) == (None, 1)
    assert "tenant" not in told


def test_the_values_of_headers_are_never_told(service):
    target = Destination(type="webhook", address="u", headers=(("Authorization", "secret"),))
    assert "secret" not in json.dumps(answers.of(service.planned(destination=target), runs=(), now=START))


def test_the_last_run_is_the_newest_whose_time_has_come(service):
    definition = service.planned()
    (first,) = service.runs_of(definition)
    followed = follow(service.runs, first, definition, now=HOUR)
    service.tasks.add(followed.rows)
    assert answers.of(definition, runs=service.chain.newest(definition), now=HOUR)["last_run"] is None
    service.tasks.commit([transitions.Transition(before=first, after=claimed(first))])
    told = answers.of(definition, runs=service.chain.newest(definition), now=HOUR)
    assert (told["last_run"]["run_id"], told["last_run"]["status"]) == (first.id, "RUNNING")
    assert told["next_run_at"] == "2026-11-18T12:00:00.000Z"


@pytest.mark.parametrize(("most", "expected"), [(1, None), (2, "2026-11-18T12:00:00.000Z")])
def test_after_the_last_of_its_runs_there_is_no_next(service, most, expected):
    definition = service.planned(max_runs=most)
    (first,) = service.runs_of(definition)
    service.tasks.commit([transitions.Transition(before=first, after=claimed(first))])
    assert answers.of(definition, runs=service.chain.newest(definition), now=HOUR)["next_run_at"] == expected
