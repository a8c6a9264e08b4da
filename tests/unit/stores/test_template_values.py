"""Rows keep every field of a template. A field that was forgotten would silently go back to its default."""

from dataclasses import fields, replace
from datetime import timedelta

from postdate.domain.flow import FlowControl
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import Ack, Destination, Payload, Task, Template
from postdate.stores.template_values import template_fields, template_values
from tests.unit.doubles import HOOK, a_task

USUAL = Template(destination=HOOK, payload=Payload())
# Rows keep these three beside the values: in attributes of their own, or relative to the row's instant.
BESIDE = {"destination", "payload", "expires_after"}
UNUSUAL = Template(
    destination=Destination(type="sqs", address="queue"),
    payload=Payload(text="1"),
    retry=RetryPolicy(max_attempts=7, initial_seconds=1, multiplier=3, max_seconds=9, jitter=False),
    timeout_seconds=7,
    ack=Ack.EXPLICIT,
    expires_after=timedelta(hours=1),
    flow=FlowControl(key="mail", rate=2, period_seconds=3, parallelism=4),
    depth=3,
)


def test_the_example_sets_every_field() -> None:
    for field in fields(Template):
        assert getattr(UNUSUAL, field.name) != getattr(USUAL, field.name), field.name


def test_every_field_of_a_template_is_kept() -> None:
    kept = template_fields(template_values(UNUSUAL))
    assert kept.keys() == {field.name for field in fields(Template)} - BESIDE
    assert replace(USUAL, **kept) == replace(UNUSUAL, **{name: getattr(USUAL, name) for name in BESIDE})


def test_a_task_keeps_the_fields_of_its_template_under_their_names() -> None:
    names = {field.name for field in fields(Task)}
    assert {field.name for field in fields(Template)} - {"expires_after"} <= names
    task = replace(a_task(), **template_fields(template_values(UNUSUAL)))
    assert template_values(task) == template_values(UNUSUAL)
