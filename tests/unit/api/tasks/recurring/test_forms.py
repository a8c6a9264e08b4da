import json
from datetime import timedelta

import pytest

from functions.api.forms import fingerprint, parsed
from functions.api.jobs.forms import JobForm
from functions.api.tasks.forms import OF_RECURRING, TaskForm
from functions.api.tasks.recurring.forms import (
    BackfillForm,
    PauseForm,
    PreviewForm,
    RecurringChangeForm,
    schedule_of,
)
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import Ack

HOOK = {"type": "webhook", "url": "https://hooks.example.com/a"}
CRON = {"cron": "0 * * * *", "target": HOOK}


def refused(form, given, then=lambda form: form):
    with pytest.raises(ValidationFailed) as found:
        then(parsed(form, json.dumps(given)))
    return [name for name, _ in found.value.fields]


WRONG = [
    ({"timezone": 1}, "timezone"),
    ({"timezone": "z" * 65}, "timezone"),
    ({"cron": 5}, "cron"),
    ({"cron": "*" * 257}, "cron"),
    ({"start_at": "2026-11-18"}, "start_at"),
    ({"end_at": "2026-11-18T10:05:00"}, "end_at"),
    ({"max_runs": 0}, "max_runs"),
    ({"max_runs": 1.5}, "max_runs"),
    ({"jitter_seconds": -1}, "jitter_seconds"),
    ({"jitter_seconds": 3601}, "jitter_seconds"),
    ({"overlap": "never"}, "overlap"),
    ({"catch_up": "some"}, "catch_up"),
    ({"catch_up_window_seconds": 0}, "catch_up_window_seconds"),
    ({"catch_up_window_seconds": 31 * 86_400 + 1}, "catch_up_window_seconds"),
    ({"ack": "maybe"}, "ack"),
    ({"expires_after_seconds": 0}, "expires_after_seconds"),
    ({"expires_after_seconds": 31_536_001}, "expires_after_seconds"),
    ({"run_at": "2026-11-18T10:06:00Z"}, "body"),
    ({"delay_seconds": 5}, "body"),
    ({"cron": None}, "body"),
]


@pytest.mark.parametrize(("changes", "field"), WRONG, ids=str)
def test_a_wrong_field_is_refused_by_its_name(changes, field):
    assert refused(TaskForm, CRON | changes) == [field]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cron": "* * * *"}, "cron"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": ""}, "cron"),
        ({"timezone": "Europe/Atlantis"}, "timezone"),
        ({"timezone": ""}, "timezone"),
        ({"start_at": "2026-11-18T10:06:00Z", "end_at": "2026-11-18T10:05:00Z"}, "end_at"),
        ({"cron": "* * * * *", "jitter_seconds": 60}, "jitter_seconds"),
        ({"start_at": "1969-01-01T00:00:00Z"}, "start_at"),
        ({"end_at": "9999-12-31T23:59:59-14:00"}, "end_at"),
    ],
    ids=str,
)
def test_fields_that_make_no_plan_are_refused_by_their_names(changes, field):
    assert refused(TaskForm, CRON | changes, schedule_of) == [field]


USED = {
    "timezone": "Europe/Berlin",
    "start_at": "2026-11-18T10:06:00Z",
    "end_at": "2026-11-18T10:06:00Z",
    "max_runs": 1,
    "jitter_seconds": 1,
    "overlap": "allow",
    "catch_up": "none",
    "catch_up_window_seconds": 1,
}
DEFAULTS = {
    "timezone": "UTC",
    "start_at": None,
    "end_at": None,
    "max_runs": None,
    "jitter_seconds": 0,
    "overlap": "skip",
    "catch_up": "latest",
    "catch_up_window_seconds": 86_400,
}


def test_each_field_of_recurring_tasks_is_known_as_one():
    assert set(USED) == set(DEFAULTS) == set(OF_RECURRING)


@pytest.mark.parametrize("field", USED)
@pytest.mark.parametrize("when", [{"delay_seconds": 5}, {"run_at": "2026-11-18T10:06:00Z"}], ids=str)
def test_a_field_of_recurring_tasks_needs_a_cron(field, when):
    assert refused(TaskForm, {"target": HOOK, field: USED[field]} | when) == [field]


def test_all_fields_that_need_a_cron_are_named_at_once():
    assert refused(TaskForm, {"target": HOOK, "delay_seconds": 5} | USED) == list(OF_RECURRING)


def test_defaults_of_recurring_tasks_that_a_generated_client_sends_need_no_cron():
    once = {"target": HOOK, "delay_seconds": 5}
    sent = parsed(TaskForm, json.dumps(once | DEFAULTS | {"run_at": None, "cron": None}))
    assert fingerprint(sent) == fingerprint(parsed(TaskForm, json.dumps(once)))


def test_fields_of_every_task_need_no_cron():
    form = parsed(
        TaskForm,
        json.dumps({"delay_seconds": 5, "target": HOOK, "ack": "explicit", "expires_after_seconds": 9}),
    )
    assert (form.ack, form.expires_after_seconds) == (Ack.EXPLICIT, 9)


def test_fields_of_a_plan_that_are_left_out_have_their_defaults():
    form = parsed(TaskForm, json.dumps(CRON))
    plan = schedule_of(form)
    assert (plan.cron.text, plan.cron.timezone) == ("0 * * * *", "UTC")
    assert (plan.start_at, plan.end_at, plan.max_runs, plan.jitter_seconds) == (None, None, None, 0)
    assert (form.overlap, form.catch_up, form.catch_up_window_seconds) == ("skip", "latest", 86_400)


@pytest.mark.parametrize("field", USED)
def test_every_difference_in_a_plan_is_another_request(field):
    differs = parsed(TaskForm, json.dumps(CRON | {field: USED[field]}))
    assert fingerprint(differs) != fingerprint(parsed(TaskForm, json.dumps(CRON)))


class TestChanges:
    @pytest.mark.parametrize("given", [{}, {"cron": None}, {"overlap": None, "target": None}], ids=str)
    def test_a_change_of_nothing_is_refused(self, given):
        assert refused(RecurringChangeForm, given) == ["body"]

    @pytest.mark.parametrize("field", ["run_at", "delay_seconds", "status", "plan", "task_id"])
    def test_a_field_that_cannot_be_changed_is_refused_by_its_name(self, field):
        assert refused(RecurringChangeForm, {"payload": 1, field: 1}) == [field]

    def test_a_reason_is_short(self):
        assert refused(PauseForm, {"reason": "r" * 201}) == ["reason"]
        assert parsed(PauseForm, "{}").reason is None


class TestPreviews:
    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({}, "body"),
            ({"cron": "* * * * *", "task_id": "task_1"}, "body"),
            ({"task_id": "task_1", "timezone": "UTC"}, "timezone"),
            ({"cron": "* * * * *", "count": 0}, "count"),
            ({"cron": "* * * * *", "count": 101}, "count"),
            ({"cron": "* * * * *", "from": "now"}, "from"),
            ({"cron": "* * * * *", "from_": "2026-11-18T10:06:00Z"}, "from_"),
        ],
        ids=str,
    )
    def test_a_wrong_question_is_refused_by_its_field(self, given, field):
        assert refused(PreviewForm, given) == [field]

    def test_a_backfill_needs_both_ends(self):
        assert refused(BackfillForm, {}) == ["from", "to"]


class TestJobs:
    def test_a_job_is_a_task_under_other_names(self):
        job = parsed(
            JobForm,
            json.dumps(
                {
                    "runAt": "2026-11-18T10:06:00Z",
                    "target": HOOK,
                    "idempotencyKey": "k",
                    "timeoutSeconds": 5,
                    "expiresAfterSeconds": 7,
                }
            ),
        )
        assert (job.timeout_seconds, job.idempotency_key) == (5, "k")
        assert timedelta(seconds=job.expires_after_seconds) == timedelta(seconds=7)

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"runAt": "tomorrow"}, "runAt"),
            ({"run_at": "2026-11-18T10:06:00Z"}, "run_at"),
            ({"delaySeconds": 5, "jitterSeconds": 1}, "jitterSeconds"),
            ({"delaySeconds": 5, "payloadRef": 1}, "payloadRef"),
            ({"delaySeconds": 5, "payloadRef": "s3://b/demo/a", "payload": 1}, "body"),
            ({"delaySeconds": 5, "idempotencyKey": ""}, "idempotencyKey"),
            ({}, "body"),
        ],
        ids=str,
    )
    def test_the_job_api_names_wrong_fields_in_its_own_spelling(self, given, field):
        assert refused(JobForm, {"target": HOOK} | given) == [field]

    def test_a_plan_that_is_none_is_told_under_its_names(self):
        given = {"cron": "* * * * *", "target": HOOK, "jitterSeconds": 100}
        assert refused(JobForm, given, schedule_of) == ["jitterSeconds"]
