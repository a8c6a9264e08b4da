import json

import pytest

from functions.api.forms import parsed
from functions.api.tasks.change_forms import TaskChangeForm
from functions.api.tasks.fields import flow
from functions.api.tasks.forms import TaskForm
from functions.api.tasks.one_time import answers
from functions.api.tasks.recurring.forms import RecurringChangeForm
from postdate.domain.errors import ValidationFailed
from postdate.domain.flow import FlowControl
from tests.unit.doubles import a_task

ASKED = {"delay_seconds": 5, "target": {"type": "webhook", "url": "https://hooks.example.com/a"}}


def form(control):
    return parsed(TaskForm, json.dumps(ASKED | {"flow_control": control}))


@pytest.mark.parametrize(
    ("asked", "control"),
    [
        (None, None),
        ({"key": "k", "rate": 10}, FlowControl(key="k", rate=10)),
        ({"key": "k", "parallelism": 100}, FlowControl(key="k", parallelism=100)),
        (
            {"key": "k", "rate": 10_000, "period_seconds": 86_400, "parallelism": 1},
            FlowControl(key="k", rate=10_000, period_seconds=86_400, parallelism=1),
        ),
    ],
)
def test_requested_flow_control_is_stored_and_shown(asked, control):
    assert flow(form(asked).flow_control) == control
    shown = answers.of(a_task(flow=control))["flow_control"]
    usual = {"rate": None, "period_seconds": 1, "parallelism": None}
    assert shown == (None if asked is None else usual | asked)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"rate": 1}, "flow_control.key"),
        ({"key": "", "rate": 1}, "flow_control.key"),
        ({"key": "k" * 129, "rate": 1}, "flow_control.key"),
        ({"key": "k"}, "flow_control"),
        ({"key": "k", "parallelism": 1, "period_seconds": 2}, "flow_control"),
        ({"key": "k", "rate": 0}, "flow_control.rate"),
        ({"key": "k", "rate": 10_001}, "flow_control.rate"),
        ({"key": "k", "rate": 1, "period_seconds": 0}, "flow_control.period_seconds"),
        ({"key": "k", "rate": 1, "period_seconds": 86_401}, "flow_control.period_seconds"),
        ({"key": "k", "parallelism": 0}, "flow_control.parallelism"),
        ({"key": "k", "parallelism": 101}, "flow_control.parallelism"),
        ({"key": "k", "rate": 1, "burst": 5}, "flow_control.burst"),
    ],
)
def test_flow_control_without_a_limit_or_beyond_the_bounds_is_refused(asked, field):
    with pytest.raises(ValidationFailed) as refused:
        form(asked)
    assert [name for name, _ in refused.value.fields] == [field]


@pytest.mark.parametrize("change", [TaskChangeForm, RecurringChangeForm])
def test_it_is_changed_as_a_whole_and_null_is_a_change(change):
    taken_away = parsed(change, '{"flow_control": null}')
    assert (taken_away.flow_control, taken_away.model_fields_set) == (None, {"flow_control"})
    with pytest.raises(ValidationFailed) as refused:
        parsed(change, '{"flow_control": {"rate": 5}}')
    assert [name for name, _ in refused.value.fields] == ["flow_control.key"]
