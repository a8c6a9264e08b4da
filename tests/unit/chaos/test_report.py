from collections import Counter
from dataclasses import replace
from random import Random

from chaos import forms, report
from chaos.forms import Places
from chaos.notes import Notes
from chaos.receiver import MISBEHAVIOUR
from chaos.timeline import EVERY
from tests.unit.chaos.sound import seen
from tests.unit.doubles import MINUTE, SECOND, START

PLACES = Places(receiver_url="http://127.0.0.1:1", queue_url="q", ends_at=START + 2 * MINUTE)


def test_a_run_in_which_a_kind_of_fault_did_not_happen_has_failed() -> None:
    done, tempers = dict.fromkeys(EVERY, 1), dict.fromkeys(MISBEHAVIOUR, 1)
    assert report.broken(report.faults(done, tempers)) == []
    assert report.broken(report.faults(done | {"kill settle": 0}, tempers)) == ["fault kill settle"]
    assert report.broken(report.faults(done, tempers | {"hang": 0})) == ["fault target hang"]


def test_a_run_that_killed_nobody_at_work_has_failed() -> None:
    told = {line["what"]: line["count"] for line in report.hits(seen())}
    assert told["attempts that failed"] == told["dead tasks"] == 1
    assert report.broken(report.hits(seen())) == ["hit killed at work"]
    unanswered = replace(seen().notes, unknown=Counter({"a task": 1}))
    assert report.broken(report.hits(seen(notes=unanswered))) == []


def test_a_run_in_which_nothing_was_cancelled_has_failed() -> None:
    asked = Counter(dict.fromkeys(report.REACHED, 1))
    assert report.broken(report.load(Notes(asked=asked, granted=asked))) == []
    assert len(report.broken(report.load(Notes()))) == len(report.REACHED)
    assert report.broken(report.load(Notes(asked=asked, granted=asked - Counter(["a cancel"])))) == [
        "load a cancel"
    ]


def test_a_check_that_fails_makes_the_run_fail() -> None:
    assert report.broken(report.checked(seen())) == []
    assert report.broken(report.checked(seen(letters=[]))) == ["check i16_letters_and_the_dead"]


def test_lateness_is_that_of_first_arrivals() -> None:
    lines = {line["what"]: line for line in report.lateness(seen())}
    assert lines["task to a webhook"]["count"] == 2
    assert lines["task to a webhook"]["max_ms"] == lines["run"]["max_ms"] == 3.25
    assert lines["payment"]["count"] == 1


def test_the_table_has_a_row_a_line_and_says_no_loudly() -> None:
    lines = [{"case": "check", "what": "a", "ok": False}, {"case": "check", "what": "b", "ok": True}]
    _, first, second = report.table(lines).splitlines()
    assert first.split() == ["check", "a", "NO"]
    assert second.split() == ["check", "b", "yes"]


def test_requested_instants_lie_within_the_run_or_just_behind_it() -> None:
    draws = Random(1)
    for now in (START, START + MINUTE, PLACES.ends_at - SECOND):
        due = [forms.instant(draws, PLACES, now) for _ in range(200)]
        assert min(due) >= now + 3 * SECOND
        assert max(due) <= max(PLACES.ends_at, now + 9 * SECOND) + SECOND
    far = [at for at in (forms.instant(draws, PLACES, START) for _ in range(200)) if at > START + 30 * SECOND]
    assert 40 < len(far) < 120
