import json

import pytest

from functions.api.forms import fingerprint, parsed
from functions.api.jobs.forms import JobForm
from functions.api.tasks.change_forms import TaskChangeForm
from functions.api.tasks.checks.payloads import payload_of
from functions.api.tasks.forms import TaskForm
from functions.api.tasks.one_time import answers as one_time
from functions.api.tasks.recurring import answers as recurring
from functions.api.tasks.recurring.forms import RecurringChangeForm
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import Payload
from tests.unit.doubles import START

REF = "s3://b/demo/orders/4711.json"
ASKED = {"delay_seconds": 5, "target": {"type": "webhook", "url": "https://hooks.example.com/a"}}
JOB = {"delaySeconds": 5, "target": ASKED["target"]}
FORMS = [(TaskForm, ASKED), (TaskChangeForm, {}), (RecurringChangeForm, {})]


def payload(form, **asked):
    return payload_of(parsed(form, json.dumps(asked)), bucket="b", tenant="demo")


@pytest.mark.parametrize(("form", "asked"), FORMS)
def test_an_object_inside_the_tenants_prefix_is_a_payload(form, asked):
    assert payload(form, **asked, payload_ref=REF) == Payload(ref=REF)
    assert payload(form, **asked, payload={"n": 1}) == Payload(text='{"n":1}')
    assert payload(form, **asked, payload={"n": 1}, payload_ref=None) == Payload(text='{"n":1}')
    assert payload(JobForm, **JOB, payloadRef=REF) == Payload(ref=REF)


@pytest.mark.parametrize(("form", "asked"), FORMS)
@pytest.mark.parametrize(
    "ref", ["s3://b/other/a", "s3://a/demo/a", "s3://b/demo/../other/a", "s3://b/demo/%2e", ""]
)
def test_any_other_is_refused_and_told_where_it_may_be(form, asked, ref):
    with pytest.raises(ValidationFailed) as refused:
        payload(form, **asked, payload_ref=ref)
    ((field, message),) = refused.value.fields
    assert field == "payload_ref"
    assert "s3://b/demo/" in message


def test_a_job_is_told_under_its_own_names():
    with pytest.raises(ValidationFailed) as refused:
        payload(JobForm, **JOB, payloadRef="s3://b/other/a")
    assert [field for field, _ in refused.value.fields] == ["payloadRef"]


@pytest.mark.parametrize(
    ("form", "asked", "given"),
    [
        *((form, asked, {"n": 1}) for form, asked in FORMS),
        *((form, asked, None) for form, asked in FORMS[1:]),
    ],
)
def test_a_payload_and_a_reference_are_one_too_many(form, asked, given):
    with pytest.raises(ValidationFailed) as refused:
        parsed(form, json.dumps(asked | {"payload": given, "payload_ref": REF}))
    ((field, message),) = refused.value.fields
    assert (field, message) == ("body", "only one of payload and payload_ref is allowed")


def test_the_default_payload_of_a_generated_client_goes_with_a_reference():
    sent = parsed(TaskForm, json.dumps(ASKED | {"payload": None, "payload_ref": REF}))
    assert payload(TaskForm, **ASKED, payload=None, payload_ref=REF).ref == REF
    assert fingerprint(sent) == fingerprint(parsed(TaskForm, json.dumps(ASKED | {"payload_ref": REF})))


def test_another_reference_is_another_request():
    one, other = (parsed(TaskForm, json.dumps(ASKED | {"payload_ref": f"{REF}{end}"})) for end in ("", "x"))
    assert len({fingerprint(one), fingerprint(other), fingerprint(parsed(TaskForm, json.dumps(ASKED)))}) == 3


def test_a_task_keeps_its_reference_in_its_row_and_shows_it(service):
    task = service.registered(payload=Payload(ref=REF))
    assert service.tasks.get(task.id).payload == Payload(ref=REF)
    assert one_time.of(task)["payload_ref"] == REF
    assert service.payloads.kept_until == {}


def test_every_run_has_the_reference_of_its_task(service):
    definition = service.planned(payload=Payload(ref=REF))
    (run,) = service.runs_of(definition)
    assert (run.payload, service.templates.text(definition)) == (Payload(ref=REF), None)
    assert recurring.of(definition, runs=[], now=START)["payload_ref"] == REF


def test_a_payload_becomes_a_reference_and_a_payload_again(service):
    large = '"' + "x" * 1000 + '"'
    task = service.registered(payload=large)
    for given in (Payload(ref=REF), Payload(text=large), Payload(text="1")):
        changed = service.changer.edit("demo", task.id, version=None, due_at=None, payload=given)
        assert service.tasks.get(task.id) == changed
        assert (changed.payload.ref, service.payload_of(task)) == (given.ref, given.text)
