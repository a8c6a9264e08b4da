"""A stored row carries its own defaults: a new default in the code changes no task that is stored already."""

import json
from typing import Any

import pytest

from postdate.domain.retry import RetryPolicy
from postdate.stores import definition_row, task_row, template_values
from tests.unit.doubles import a_task

FIRST_DEFAULT = RetryPolicy(
    max_attempts=5, initial_seconds=5.0, multiplier=2.0, max_seconds=900.0, jitter=True
)


def read_back(options: dict[str, Any] | None) -> RetryPolicy:
    """The policy of a row with these options."""
    row = task_row.TaskRow(
        slot="2026-11-18T10:05#00", id=a_task().id, tenant="demo", status="PENDING", version=1,
        due=1_795_000_000_000, created=1_795_000_000_000, moved=1_795_000_000_000,
        target='{"type":"sqs","address":"q"}', options=None if options is None else json.dumps(options),
    )  # fmt: skip
    return task_row.task_of(row).retry


@pytest.mark.parametrize("options", [None, {"name": "n"}])
def test_a_row_that_names_no_policy_keeps_the_one_it_was_stored_with(options):
    assert read_back(options) == FIRST_DEFAULT


def test_a_row_that_names_a_part_of_its_policy_keeps_the_rest():
    assert read_back({"retry": {"max_attempts": 9}}) == RetryPolicy(max_attempts=9, max_seconds=900.0)


def test_the_template_of_a_stored_plan_keeps_its_policy():
    values = {"target": {"type": "sqs", "address": "q"}, "timeout": 30, "ack": "response"}
    assert definition_row._template_of(values, a_task().payload).retry == FIRST_DEFAULT


def test_the_default_of_the_code_is_written_out():
    assert template_values.retry_values(RetryPolicy()) == {"max_attempts": 30, "max_seconds": 10_800.0}
    assert template_values.retry_values(FIRST_DEFAULT) == {}
